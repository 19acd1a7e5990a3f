package seen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"isovet/internal/escape"
	"isovet/watch"
)

// detail has everything about an incident.
type detail struct {
	Missing string // why there is no evidence
	Row     row
	Page    string // of isovet report, with the timeline, where the incident has a folder
	Lines   []shownLine
	More    string // number of violations without a line
	Command string // finds the smallest history that shows one
}

// FolderOf returns the name, below the watch's folder, of the folder of an incident for the database's maintainers.
func FolderOf(id int64) string { return fmt.Sprintf("%s/%06d", Folders, id) }

const (
	// Folders is the folder with the incidents' folders.
	Folders    = "incidents"
	reportFile = "evidence.html" // in one, as package incident names it
)

type shownLine struct {
	N        int64
	Says     string
	Standing string
	Raw      string
	Argument string   // of the certificate
	Files    []pair   // kind and name of each file
	Why      string   // why evidence is missing
	Commands []string // commands that check it
}

func (p *live) detail(in *watch.Incident) *detail {
	d := &detail{Row: p.row(*in), Command: shown(p.o.Shrink, 500)}
	if _, err := p.file(FolderOf(in.ID) + "/" + reportFile); err == nil {
		d.Page = fmt.Sprintf("/incidents/%d/%s", in.ID, reportFile)
	}
	files := in.Evidence
	told := map[int64]bool{}
	for _, raw := range in.Lines {
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			continue
		}
		s := shownLine{N: l.N, Says: l.sentence(), Raw: shown(string(raw), 4000)}
		switch {
		case l.Proved && l.Anomaly != "":
			s.Standing = "proved: " + shown(l.Anomaly, 60)
			if l.If != "" {
				s.Standing += ", if " + shown(l.If, 120)
			}
		case l.Proved:
			s.Standing = "proved"
		case l.If != "":
			s.Standing = "holds if " + shown(l.If, 120)
		case l.Assumes != "":
			s.Standing = "holds if the database works as " + shown(l.Assumes, 100) + " says"
		}
		for _, e := range files {
			if e.N == l.N {
				p.show(&s, &e)
				break
			}
		}
		told[l.N] = true
		d.Lines = append(d.Lines, s)
	}
	for _, e := range files { // violations without a line
		if told[e.N] || e.History == "" {
			continue
		}
		told[e.N] = true
		s := shownLine{N: e.N, Says: d.Row.Means + "."}
		p.show(&s, &e)
		d.Lines = append(d.Lines, s)
	}
	if left := in.Count - int64(len(d.Lines)); left > 0 {
		d.More = counted(left, "more violation")
	}
	return d
}

func (p *live) show(s *shownLine, e *watch.Evidence) {
	s.Why = shown(e.Why, 300)
	if e.History == "" {
		return
	}
	if _, err := p.file(e.History); err != nil {
		s.Why = "The history of this violation cannot be read: " + shown(err.Error(), 200)
		return
	}
	s.Files = append(s.Files, pair{"history", e.History})
	if e.Certificate == "" {
		return
	}
	text, err := p.file(e.Certificate)
	if err != nil {
		return
	}
	s.Files = append(s.Files, pair{"certificate", e.Certificate})
	c := readCertificate(text)
	if s.Argument = lines(c.Text, 60); c.Text != "" && !strings.Contains(strings.TrimSpace(c.Text), "\n") {
		s.Says, s.Argument = s.Argument, "" // a sentence, with the values
	}
	s.Commands = p.commands(e, &c)
}

// commands returns the commands with which a user can check a violation's evidence.
func (p *live) commands(e *watch.Evidence, c *certificate) []string {
	quoted := func(file string) string {
		return shown(escape.Shell(filepath.Join(p.o.Dir, filepath.FromSlash(file))), 300)
	}
	check := "isovet check " + quoted(e.History)
	if c.Checker != "" {
		check += " --checker " + shown(c.Checker, 40)
	}
	if c.Level != "" {
		check += " --level " + shown(strings.TrimPrefix(c.Level, "ts:"), 60)
	}
	return []string{check, "isovet verify " + quoted(e.History) + " " + quoted(e.Certificate)}
}

// certificate has the parts of a certificate that a page shows: its header and its first anomaly.
type certificate struct {
	Level   string `json:"level"`
	Checker string `json:"checker"`
	Text    string `json:"text"`
}

func readCertificate(text []byte) (c certificate) {
	head, rest, _ := bytes.Cut(text, []byte("\n"))
	first, _, _ := bytes.Cut(rest, []byte("\n"))
	for _, part := range [][]byte{head, first} {
		if json.Unmarshal(part, &c) != nil {
			return certificate{}
		}
	}
	return c
}
