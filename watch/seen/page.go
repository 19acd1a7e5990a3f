package seen

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"isovet/internal/plural"
	"isovet/watch"
)

//go:embed page.tmpl
var pageTemplate string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Parse(pageTemplate))
})

// policy is the content security policy of pages. It allows only their style and their script, by hash, and requests
// to this server. Scripts cannot turn text into markup.
var policy = func() string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; style-src " + hash(pageStyle) + "; script-src " + hash(pageScript) +
		"; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; " +
		"require-trusted-types-for 'script'; trusted-types 'none'"
}()

// maxRows is the number of incidents on a page.
const maxRows = 100

// view is the content of a page.
type view struct {
	Style      template.CSS
	Script     template.JS
	Title      string
	About      []pair
	Version    string
	Every      int64 // ms
	Now        time.Time
	Ready, Bad bool
	Why        string // the reason why it is not ready
	Verdict    string
	Chief      []number // above the incidents
	Further    []number
	Counts     []count
	Rows       []row
	More       int64 // incidents without a row
	Hidden     bool  // keys and transactions are hidden
	One        *detail
}

type pair struct{ Name, Value string }

// number is a number on the page, with its course over the last minutes.
type number struct {
	ID, Name, Value, Note string
	Bad, Long             bool
	Spark                 *spark
}

type count struct {
	Class, Means, N string
	Unjudged        bool
}

type row struct {
	ID                            int64
	Class, Kind, Means, Key       string
	Count, Keys, Txns             string
	Began, Last, Recent           string
	State, Standing               string
	Open, Unjudged, Proved, Shown bool
	in                            watch.Incident
}

// live answers requests for the page.
type live struct {
	o     Options
	pulse pulse
	now   func() time.Time
}

// Clock returns a time as pages show it.
func (v *view) Clock(t time.Time) string { return clock(t) }

// view returns the present content of the page.
func (p *live) view() *view {
	now := p.now()
	s := p.o.Metrics.Get()
	p.pulse.note(&s, now)
	v := &view{Style: template.CSS(pageStyle), Script: template.JS(pageScript), Now: now, Version: p.o.Build.Version,
		Every: cmp.Or(p.o.Every, 2*time.Second).Milliseconds(),
		Title: shown(cmp.Or(p.o.Title, "isovet watch"), 80), Hidden: p.o.Guarded}
	for _, a := range p.o.About {
		v.About = append(v.About, pair{a[0], shown(a[1], 120)})
	}
	v.Why = notReady(&s, p.now())
	v.Ready = v.Why == ""
	v.Chief, v.Further = p.numbers(&s, now)
	against := int64(0)
	for _, class := range slices.Sorted(maps.Keys(s.Violations)) {
		if n := s.Violations[class]; n > 0 {
			u := watch.Unjudged(class)
			if !u {
				against += n
			}
			v.Counts = append(v.Counts, count{shown(class, 40), means[class], grouped(n), u})
		}
	}
	var all []watch.Incident
	if p.o.Incidents != nil {
		all = p.o.Incidents.List()
		v.More = p.o.Incidents.Dropped()
	}
	slices.SortStableFunc(all, func(a, b watch.Incident) int {
		return cmp.Or(order(a.Unjudged, b.Unjudged), order(!a.Open, !b.Open), cmp.Compare(b.ID, a.ID))
	})
	if len(all) > maxRows {
		v.More += int64(len(all) - maxRows)
		all = all[:maxRows]
	}
	for _, in := range all {
		v.Rows = append(v.Rows, p.row(in))
	}
	switch {
	case against > 0:
		v.Bad = true
		v.Verdict = counted(against, "violation") + " found"
	case s.Txns == 0:
		v.Verdict = "no transaction has arrived yet"
	default:
		v.Verdict = "no violation found"
	}
	return v
}

// order compares booleans: false comes before true.
func order(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// counted returns a number with grouped digits, and its noun in the right form.
func counted(n int64, noun string) string {
	if n != 1 {
		noun = plural.Noun(noun)
	}
	return grouped(n) + " " + noun
}

// numbers returns the numbers above and below the table of incidents.
func (p *live) numbers(s *watch.Snapshot, now time.Time) (chief, further []number) {
	ring := p.pulse.recent()
	arrived := func(b beat) float64 { return float64(b.arrived) }
	judged := func(b beat) float64 { return float64(b.judged) }
	ago := func(t time.Time, never string) string {
		if t.IsZero() {
			return never
		}
		return lasting(now.Sub(t)) + " ago"
	}
	lag := since(s.Waiting, now)
	seconds := func(x float64) string { return lasting(time.Duration(x * float64(time.Second))) }
	out := []number{
		{ID: "arriving", Name: "Arriving", Value: rate(speed(ring, arrived)),
			Note: counted(s.Arrived, "line") + " in all", Spark: series(ring, arrived, true, rate)},
		{ID: "judging", Name: "Judged", Value: rate(speed(ring, judged)),
			Note: counted(max(s.Txns-int64(s.Window), 0), "transaction") + " final, " + grouped(int64(s.Window)) +
				" not yet",
			Spark: series(ring, judged, true, rate)},
		{ID: "lag", Name: "Lag", Value: seconds(lag), Note: "since the oldest unjudged line arrived", Bad: lag > 30,
			Spark: series(ring, func(b beat) float64 { return b.lag }, false, seconds)},
		{ID: "memory", Name: "Memory", Value: size(memory()), Note: "from the system",
			Spark: series(ring, func(b beat) float64 { return b.memory }, false, size)},
	}
	mark, note := grouped(s.Watermark), "in the stream’s unit: verdicts are final up to here"
	if s.Txns == 0 {
		mark, note = "none yet", "verdicts are final up to here"
	} else if !s.WatermarkAt.IsZero() {
		behind, which := now.Sub(s.WatermarkAt), "behind"
		if behind < 0 {
			behind, which = -behind, "ahead of"
		}
		mark, note = clock(s.WatermarkAt), lasting(behind)+" "+which+" the clock; verdicts are final up to here"
	}
	spilled, duplicates, suspects, quarantine := int64(0), int64(0), int64(0), int64(0)
	for _, c := range s.More {
		for name, to := range map[string]*int64{"spilled_keys": &spilled, "duplicates_total": &duplicates,
			"suspects": &suspects, "quarantine": &quarantine} {
			if c.Name == name {
				*to = c.N
			}
		}
	}
	checkpoint := "of an earlier run"
	if s.CheckpointBytes > 0 {
		checkpoint = size(float64(s.CheckpointBytes))
	}
	if s.CheckpointAt.IsZero() {
		checkpoint = "a restart reads the whole log"
	}
	chief = append(out,
		number{ID: "watermark", Name: "Watermark", Value: mark, Note: note, Long: true},
		number{ID: "last", Name: "Last arrival", Value: ago(s.LastArrival, "none"), Note: cmp.Or(clock(s.LastArrival),
			"since this run began")},
		number{ID: "checkpoint", Name: "Checkpoint", Value: ago(s.CheckpointAt, "none yet"), Note: checkpoint},
		number{ID: "late", Name: "Late", Value: grouped(s.Late), Note: "arrived too late to be judged"})
	return chief, []number{
		{ID: "quarantine", Name: "Quarantined", Value: grouped(quarantine), Note: "wait: their times are far ahead"},
		{ID: "duplicates", Name: "Duplicates", Value: grouped(duplicates), Note: "arrived more than once, judged once"},
		{ID: "suspects", Name: "Suspects", Value: grouped(suspects), Note: "reads that a late arrival may explain"},
		{ID: "bad", Name: "Bad lines", Value: grouped(s.Bad), Note: "are not transactions", Bad: s.Bad > 0},
		{ID: "keys", Name: "Keys", Value: grouped(int64(s.Keys)), Note: "are known"},
		{ID: "spilled", Name: "Spilled keys", Value: grouped(spilled), Note: "moved to disk to save memory"},
		{ID: "log", Name: "Log", Value: size(float64(s.LogBytes)), Note: "with the deleted segments"},
	}
}

func (p *live) row(in watch.Incident) row {
	r := row{ID: in.ID, Class: shown(in.Class, 40), Kind: shown(in.Kind, 60), Means: means[in.Class], Open: in.Open,
		Unjudged: in.Unjudged, Proved: in.Proved, Count: grouped(in.Count), Keys: grouped(in.Keys),
		Txns: grouped(in.Txns), Began: clock(in.Began), Last: clock(in.Last),
		Recent: recent(in.Last, p.now()), Shown: !p.o.Guarded, in: in}
	if k, is := ext[in.Kind]; is && in.Class == "EXT" && in.Kind != "" {
		r.Means = "a read shows " + k
	}
	if in.Class != "EXT" && r.Kind != "" {
		kind := strings.ReplaceAll(r.Kind, "-", " ")
		if r.Means != "" {
			kind += ": " + r.Means
		}
		r.Means = kind // the kind of a mechanism needs no further words
	}
	r.State = "over"
	if in.Open {
		r.State = "open"
	}
	switch {
	case in.Unjudged:
		r.Standing = "not judged"
	case in.Proved:
		r.Standing = "proved"
	}
	if len(in.Low) > 0 && !p.o.Guarded {
		r.Key = plain(in.Low, keyRunes)
		if !bytes.Equal(in.Low, in.High) {
			r.Key = plain(in.Low, keyRunes/2) + " to " + plain(in.High, keyRunes/2)
		}
	}
	return r
}

// mount adds the page to the handlers.
func (p *live) mount(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", p.own(func(w http.ResponseWriter, _ *http.Request) {
		p.write(w, http.StatusOK, p.view())
	}))
	mux.HandleFunc("GET /incidents/{id}", p.own(p.incident))
	mux.HandleFunc("GET /incidents/{id}/"+reportFile, p.own(p.report))
	mux.HandleFunc("GET /evidence/{file...}", p.own(p.evidence))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
	})
}

// own refuses requests with a foreign Host, which a page of another site could make a browser send. If the server's
// address is local, requests must name it, or localhost.
func (p *live) own(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.TrimSuffix(strings.Trim(host, "[]"), ".")
		if p.o.Local && host != "localhost" && net.ParseIP(host) == nil {
			http.Error(w, "this watch answers only its own machine: open it as localhost", http.StatusForbidden)
			return
		}
		h(w, r)
	}
}

func (p *live) write(w http.ResponseWriter, status int, v *view) {
	var b bytes.Buffer
	if err := pages().Execute(&b, v); err != nil {
		http.Error(w, "the page cannot be made: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy)
	guard(h)
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // the client may have gone
}

func guard(h http.Header) {
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

func (p *live) incident(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	v := p.view()
	if in := p.find(id); err == nil && in != nil && !p.o.Guarded {
		v.One = p.detail(in)
		p.write(w, http.StatusOK, v)
		return
	}
	v.One = &detail{Missing: "This watch has no such incident in memory."}
	if p.o.Guarded {
		v.One.Missing = hidden
	}
	p.write(w, http.StatusNotFound, v)
}

// hidden is the text that explains why keys are hidden.
const hidden = "Others can reach this page, so it hides keys and transactions. Use a loopback address, or " +
	"--metrics-token-file."

func (p *live) find(id int64) *watch.Incident {
	if p.o.Incidents == nil {
		return nil
	}
	all := p.o.Incidents.List()
	if i := slices.IndexFunc(all, func(in watch.Incident) bool { return in.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// evidence sends a file that an incident names, and refuses all others.
func (p *live) evidence(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	if p.o.Guarded || !p.named(name) {
		http.Error(w, "no incident names this file", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("Content-Disposition", "attachment; filename="+strconv.Quote(strings.ReplaceAll(name, "/", "-")))
	p.send(w, name)
}

// report sends the report page of an incident. That page has a policy of its own; the header only forbids frames.
func (p *live) report(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || p.o.Guarded {
		http.Error(w, "no such page", http.StatusNotFound)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "frame-ancestors 'none'")
	p.send(w, FolderOf(id)+"/"+reportFile)
}

// send sends a file of the folder.
func (p *live) send(w http.ResponseWriter, name string) {
	text, err := p.file(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		http.Error(w, "the file is not there any more", http.StatusNotFound)
		return
	case err != nil:
		http.Error(w, "the file cannot be read", http.StatusInternalServerError)
		return
	}
	guard(w.Header())
	_, _ = w.Write(text)
}

func (p *live) named(file string) bool {
	if p.o.Incidents == nil || file == "" {
		return false
	}
	for _, in := range p.o.Incidents.List() {
		for _, e := range in.Evidence {
			if e.History == file || e.Certificate == file {
				return true
			}
		}
	}
	return false
}

// maxEvidence bounds the size of a file of evidence that a page shows.
const maxEvidence = 8 << 20

// file reads a file of the folder. It refuses paths that lead out of the folder.
func (p *live) file(name string) ([]byte, error) {
	root, err := os.OpenRoot(p.o.Dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxEvidence+1))
	if err == nil && len(text) > maxEvidence {
		err = fmt.Errorf("more than %d bytes", maxEvidence)
	}
	return text, err
}
