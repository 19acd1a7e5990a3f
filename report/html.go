package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"isovet/evidence"
	"isovet/history"
)

//go:embed page.tmpl
var pageText string

var page = template.Must(template.New("page").Parse(pageText))

// What a page shows at most, beside MaxNodes transactions a figure.
const (
	maxAnomalies = 10
	maxCases     = 12
)

type pageData struct {
	Name, Level, About, Verdict, Reason, Summary string
	Levels                                       []pageLevel // of a page on all levels
	Meta                                         []pair
	Anomalies                                    []pageAnomaly
	More                                         int
	Shrink, Small                                string
	Deps                                         []legend
	Stats                                        []pair
	Order                                        string
}

type pair struct{ Name, Value string }

type legend struct{ Name, Class, Means string }

type pageAnomaly struct {
	Title    string
	Text     string
	Timeline template.HTML
	Reads    template.HTML
	Circles  []pageCircle
	Cases    bool
	More     int
	Edges    []pageEdge
}

type pageCircle struct {
	Caption string
	Figure  template.HTML
}

type pageEdge struct{ From, To, Dep, Class, Key, Value, Why string }

// means says in words what a dependency is.
var means = map[evidence.Dep]string{
	evidence.WR:  "read from: the second read what the first wrote",
	evidence.WW:  "version order: the second overwrote what the first wrote",
	evidence.RW:  "anti-dependency: the second overwrote what the first had read",
	evidence.PWR: "the second's predicate read shows what the first did",
	evidence.PRW: "the first's predicate read does not show what the second did",
	evidence.SO:  "session order",
	evidence.RT:  "real time: the first ended before the second began",
	evidence.TS:  "the database's timestamps",
}

// used is the legend of the dependencies that occur.
func used(as []evidence.Anomaly) []legend {
	var out []legend
	for i := range as {
		for _, c := range cyclesOf(&as[i]) {
			for _, e := range c {
				l := legend{e.Dep.String(), depClass(e.Dep), means[e.Dep]}
				if !slices.Contains(out, l) {
					out = append(out, l)
				}
			}
		}
	}
	slices.SortFunc(out, func(a, b legend) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// HTML writes one page that needs nothing else: no script, no style or font from elsewhere; it is well-formed XML. It
// shows the verdict, and of each anomaly the transactions by session, its cycles as circles, its proof in words and its
// edges.
func HTML(w io.Writer, name string, r *evidence.Result) error {
	return HTMLWith(w, name, r, HTMLOptions{})
}

// HTMLOptions say what a page names beside the verdict.
type HTMLOptions struct {
	// Shrink is the command that finds the smallest history with the violation; "": isovet shrink with name and level.
	Shrink string
	// Small is a link, relative to the page, to the file of that history; "": there is none.
	Small string
}

// HTMLWith is HTML with options. Where the history has more transactions than the violation, the page says how to get
// the smallest history that still violates the level, or where it is.
func HTMLWith(w io.Writer, name string, r *evidence.Result, o HTMLOptions) error {
	d := pageData{Name: name, Level: r.Label(), About: r.Level.About(), Verdict: r.Verdict.String(), Reason: r.Reason,
		Summary: Summary(r), Stats: statPairs(&r.Stats)}
	if h := r.H; h != nil {
		d.Meta = metaPairs(h)
		for i := range r.Anomalies {
			if i == maxAnomalies {
				break
			}
			d.Anomalies = append(d.Anomalies, newPageAnomaly(r, &r.Anomalies[i]))
		}
		d.More = more(r, maxAnomalies)
		if d.Small = o.Small; larger(r) {
			d.Shrink = cmp.Or(o.Shrink, "isovet shrink "+Quoted(name)+" --level "+r.Level.String()+" -o small.jsonl")
		}
		d.Deps = used(r.Anomalies)
		d.Order = orderText(r)
	}
	return d.write(w)
}

// larger reports whether a history has transactions that no anomaly of its violation needs.
func larger(r *evidence.Result) bool {
	if r.Verdict != evidence.Violated || len(r.Anomalies) == 0 {
		return false
	}
	named := map[uint32]bool{}
	for i := range r.Anomalies {
		a := &r.Anomalies[i]
		for _, t := range a.Txns {
			named[t] = true
		}
		for _, op := range slices.Concat(append(slices.Clone(a.Dead), a.Ops)...) {
			named[r.H.TxnOf(op)] = true
		}
		for _, c := range cyclesOf(a) {
			for _, e := range c {
				named[e.From], named[e.To] = true, true
			}
		}
	}
	delete(named, history.None)
	delete(named, r.H.Init)
	n := r.H.NumTxns()
	if r.H.Init != history.None {
		n--
	}
	return n > len(named)
}

// Quoted is a word as a shell takes it.
func Quoted(s string) string {
	safe := func(r rune) bool {
		return r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' ||
			strings.ContainsRune("-_./:=,+@%", r))
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func (d *pageData) write(w io.Writer) error {
	var b bytes.Buffer
	if err := page.Execute(&b, d); err != nil {
		return err
	}
	_, err := w.Write(allowed(b.Bytes()))
	return err
}

// metaPairs is what a history says of itself.
func metaPairs(h *history.History) (out []pair) {
	for _, p := range []pair{{"name", h.Meta.Name}, {"database", h.Meta.DB}, {"isolation asked for", h.Meta.Isolation},
		{"workload", h.Meta.Workload}, {"note", h.Meta.Note}} {
		if p.Value != "" {
			out = append(out, p)
		}
	}
	return out
}

// allowed replaces what may stand in no XML: control characters, and bytes that are no UTF-8. Names from a history may
// have them.
func allowed(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
			return utf8.RuneError
		}
		return r // bytes.Map gives RuneError for a byte that is no UTF-8
	}, b)
}

// orderText writes the beginning of a valid history's order.
func orderText(r *evidence.Result) string {
	if r.Verdict != evidence.Holds {
		return ""
	}
	var b bytes.Buffer
	for i, t := range r.Order {
		if i == MaxNodes {
			fmt.Fprintf(&b, " … and %d more", len(r.Order)-i)
			break
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		if r.Level.Snapshot() {
			b.WriteString([]string{"begin ", "commit "}[t&1])
			t >>= 1
		}
		b.WriteString(txnName(r.H, t))
		if r.Level.Snapshot() && i+1 < len(r.Order) {
			b.WriteByte(',')
		}
	}
	return b.String()
}

func newPageAnomaly(r *evidence.Result, a *evidence.Anomaly) pageAnomaly {
	h := r.H
	s := newScene(h, []evidence.Anomaly{*a}, MaxNodes)
	p := pageAnomaly{Title: title(a), Text: textOf(a, r), Timeline: template.HTML(timeline(h, s, MaxNodes))}
	if len(a.Ops) > 0 {
		p.Reads = template.HTML(reads(s))
	}
	cycles := cyclesOf(a)
	p.Cases = len(cycles) > 1
	room := MaxNodes
	for i, c := range cycles {
		if i == maxCases || room < len(c) && i > 0 {
			p.More = len(cycles) - i
			break
		}
		q := pageCircle{Figure: template.HTML(circle(h, c, MaxNodes))}
		if p.Cases {
			q.Caption = fmt.Sprintf("Case %d of %d", i+1, len(cycles))
		}
		p.Circles = append(p.Circles, q)
		room -= len(c)
	}
	for i, e := range s.edges {
		if i == 4*MaxNodes {
			break
		}
		q := pageEdge{From: txnName(h, e.From), To: txnName(h, e.To), Dep: e.Dep.String(), Class: depClass(e.Dep),
			Key: keyName(h, e.Key), Why: why(h, e)}
		if e.Ver != history.None {
			q.Value = clip(h.ValueString(e.Ver), 60)
		}
		p.Edges = append(p.Edges, q)
	}
	return p
}

// reads draws the transactions of an anomaly of single reads side by side, the operations that show it marked.
func reads(s *scene) string {
	boxes := make([]box, len(s.txns))
	x, tall := 10.0, 0.0
	for i, t := range s.txns {
		boxes[i] = s.box(t, true)
		tall = max(tall, boxes[i].h)
	}
	for i := range boxes {
		boxes[i].x = x + boxes[i].w/2
		boxes[i].y = 10 + boxes[i].h/2
		x += boxes[i].w + 30
	}
	var b bytes.Buffer
	var inner strings.Builder
	for i := range boxes {
		boxes[i].draw(&inner, s.h, s.shown)
	}
	fmt.Fprintf(&b, `<svg viewBox="0 0 %.0f %.0f" style="width:%.0fpx;max-width:100%%" role="img"><title>The operations that show it</title>%s</svg>`, x, tall+20, x, inner.String())
	return b.String()
}

// statPairs lists what is not zero.
func statPairs(s *evidence.Stats) []pair {
	var out []pair
	n := func(name string, v int64) {
		if v != 0 {
			out = append(out, pair{name, fmt.Sprint(v)})
		}
	}
	n("transactions", int64(s.Txns))
	n("operations", int64(s.Ops))
	n("sessions", int64(s.Sessions))
	n("keys", int64(s.Keys))
	n("known edges", int64(s.KnownEdges))
	n("constraints", int64(s.Constraints))
	n("constraints left to the solver", int64(s.Left))
	n("variables", int64(s.Variables))
	n("clauses", int64(s.Clauses))
	n("decisions", s.Decisions)
	n("conflicts", s.Conflicts)
	n("propagations", s.Propagated)
	n("restarts", s.Restarts)
	n("rounds", int64(s.Rounds))
	for _, stage := range slices.Sorted(maps.Keys(s.Stages)) {
		out = append(out, pair{stage, Millis(s.Stages[stage])})
	}
	return out
}
