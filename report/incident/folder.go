package incident

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"

	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/atomicfile"
	"isovet/internal/escape"
	"isovet/report"
)

// The names of the files in the folder of an incident.
const (
	ReadmeFile   = "README.md"
	JSONFile     = "incident.json"
	ScheduleFile = "schedule.json"
	pageFile     = "index.html"
	evidenceFile = "evidence.html"
	historyFile  = "history.jsonl"
	certFile     = "history.cert"
	playedFile   = "replayed.jsonl"
	playedCert   = "replayed.cert"
	setupFile    = "setup.sql"
)

// Write writes the folder and makes it if it does not exist. It replaces or removes the files of an earlier incident
// and leaves other files alone.
func (x *Incident) Write(dir string) (err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := clear(dir); err != nil {
		return err
	}
	x.Files = nil
	put := func(name string, f func(io.Writer) error) {
		if err == nil {
			x.Files = append(x.Files, name)
			err = writeFile(filepath.Join(dir, name), f)
		}
	}
	answer := func(name, cert string, h *history.History, r *evidence.Result) {
		put(name, func(w io.Writer) error { return jsonl.Write(w, h) })
		put(cert, func(w io.Writer) error { return evidence.WriteCertificate(w, r) })
	}
	answer(historyFile, certFile, x.answer.H, x.answer)
	put(evidenceFile, func(w io.Writer) error { return report.HTML(w, historyFile, x.answer) })
	if x.repro != nil {
		put(ScheduleFile, x.repro.Script.Write)
		if x.repro.Last != nil {
			answer(playedFile, playedCert, x.repro.Last.H, x.repro.Last)
		}
	}
	if _, sessions := lines(x.order); x.Database.Tables != nil && sessions <= mostScripts {
		put(setupFile, x.setup)
		for n := range sessions {
			put(sessionFile(n), func(w io.Writer) error { return x.session(w, n) })
		}
	}
	put(pageFile, x.page)
	put(ReadmeFile, x.Markdown)
	put(JSONFile, func(w io.Writer) error {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", " ")
		e.SetEscapeHTML(false)
		if err := e.Encode(x); err != nil {
			return err
		}
		_, err := w.Write(escape.JSON(b.Bytes()))
		return err
	})
	return err
}

func sessionFile(n int) string { return fmt.Sprintf("session-%d.sql", n+1) }

// clear removes the files of an earlier incident that this incident may not replace.
func clear(dir string) error {
	names := []string{ScheduleFile, playedFile, playedCert, setupFile}
	for n := range mostScripts {
		names = append(names, sessionFile(n))
	}
	for _, name := range names {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func writeFile(path string, f func(io.Writer) error) error {
	w, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	return atomicfile.End(w, path, false, f(w))
}

// page writes a page for browsers with the sessions side by side.
func (x *Incident) page(w io.Writer) error {
	type row struct {
		line
		N       int
		At      string
		Text    []string
		Got     string
		Waits   string
		Locking bool
		Refused bool
		Txn     string // its name in the explanation, where it begins
	}
	type part struct {
		Title    string
		Command  string
		About    string
		Sessions []int
		Rows     []row
	}
	one := func(title string, ls []line, sessions int, named bool) part {
		p := part{Title: title}
		begun := map[int64]bool{}
		for n := range sessions {
			p.Sessions = append(p.Sessions, n+1)
		}
		for _, l := range ls {
			r := row{line: l, N: l.n, At: l.at, Text: l.text, Got: l.got, Waits: l.waits, Locking: l.locking,
				Refused: l.refused}
			if named && !begun[l.txn] {
				begun[l.txn] = true
				r.Txn = fmt.Sprintf("T%d", l.txn)
			}
			p.Rows = append(p.Rows, r)
		}
		return p
	}
	var parts []part
	if len(x.events) > 0 {
		ls, n := lines(x.events)
		p := one("How to repeat it", ls, n, false) // these transactions have numbers of their own
		p.Command = x.replayCommand()
		parts = append(parts, p)
	}
	if len(x.found) > 0 {
		ls, n := lines(x.found)
		p := one("As it was found", ls, n, true)
		if x.Command != "" {
			p.About = renamed
		}
		parts = append(parts, p)
	}
	return escape.Page(w, func(w io.Writer) error {
		return page.Execute(w, map[string]any{"X": x, "Parts": parts, "Title": x.title(), "Why": x.why(),
			"In": func(r row, n int) bool { return r.session == n-1 }})
	})
}

//go:embed index.tmpl
var pageText string

var page = template.Must(template.New("incident").Parse(pageText))
