package report

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/internal/sorts"
	"isovet/level"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// The style and the script stand in the page itself, in sections that XML does not parse. The page's content security
// policy names their hashes, so that no other script can run.
var (
	styleElement, styleHash   = inline("style", "/*<![CDATA[*/\n"+pageStyle+"/*]]>*/")
	scriptElement, scriptHash = inline("script", "//<![CDATA[\n"+pageScript+"//]]>\n")
	policy                    = "default-src 'none'; style-src " + styleHash + "; script-src " + scriptHash +
		"; img-src data: blob:; base-uri 'none'; form-action 'none'"
)

func inline(element, text string) (markup, string) {
	sum := sha256.Sum256([]byte(text))
	return markup("<" + element + ">" + text + "</" + element + ">"),
		"'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Limits of a page. MaxNodes limits the transactions of a figure.
const (
	maxAnomalies = 10
	maxCases     = 100
	circleRoom   = 120 // boxes of all circles of an anomaly
	maxSteps     = 2 * MaxNodes
	maxText      = 16 << 10 // bytes of an argument as text
)

type pageData struct {
	Name, Level, About, Verdict, Reason, Summary string
	// Of is the word between a verdict and Level; "" is "at". A violation is always one "of" the level.
	Of            string
	Levels        []pageLevel // of a page on all levels
	Lattice       markup
	Meta          []pair
	Kinds         []pair // anomalies by kind, where there are several
	Anomalies     []pageAnomaly
	More          int
	Mechanisms    *pageMechanisms
	Shrink, Small string
	Deps          []pair
	Stats         []pair
	Order         *pageOrder
	Run           *pageRun
}

type pair struct{ Name, Value string }

type pageAnomaly struct {
	ID       string
	Title    string
	Short    inShort
	Timeline markup
	Lists    []pageList
	Linear   *pageLinear
	Cases    []pageCase
	Many     string // about the cases, where there are several
	More     int
	Text     string
	// of operations that a workload's rule judges
	About      string
	Operations []Operation
}

// pageCase is one cycle: a figure and its sentences.
type pageCase struct {
	N, Of  int
	ID     string
	Figure markup
	Steps  []pageStep
	So     string
}

// pageStep is an edge as a sentence. Rests lists the operations and assumptions behind it.
type pageStep struct {
	ID, Dep, Text string
	Rests         []string
}

// edgeIDs maps an edge to the ids of the sentences about it, separated by blanks.
type edgeIDs map[evidence.Edge]string

// means describes the dependencies in words.
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

// used returns the legend entries of the dependencies that occur in the anomalies.
func used(as []evidence.Anomaly) []pair {
	var out []pair
	for i := range as {
		for _, e := range as[i].Edges() {
			out = slice.Union(out, pair{e.Dep.String(), means[e.Dep]})
		}
	}
	sorts.Func(out, func(a, b pair) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// HTML writes a page that needs no other file: it contains its style and its script, and reads well without the
// script. It is well-formed XML. It shows the verdict and, for each anomaly, the transactions by session, the cycles
// as circles, and the proof in sentences with their grounds. A valid history's page shows the commit order.
func HTML(w io.Writer, name string, r *evidence.Result) error {
	return HTMLWith(w, name, r, HTMLOptions{})
}

// HTMLOptions are further data of a page.
type HTMLOptions struct {
	// Shrink is the command that finds the smallest history with the violation. "" means "isovet shrink" with name and
	// level.
	Shrink string
	Whole  *history.History // the history of the run, if the result is about a part of it
	// Small is a link, relative to the page, to the file with the smallest history, or "".
	Small string
}

// HTMLWith is HTML with options. If the history has transactions that the violation does not need, the page says how
// to find the smallest history that violates the level, or where it is.
func HTMLWith(w io.Writer, name string, r *evidence.Result, o HTMLOptions) error {
	d := pageData{Name: name, Level: r.Label(), About: r.Level.About(), Verdict: r.Verdict.String(), Reason: r.Reason,
		Summary: Summary(r), Stats: statPairs(&r.Stats)}
	if h := r.H; h != nil {
		d.Meta = MetaPairs(h)
		for i := range r.Anomalies[:min(len(r.Anomalies), maxAnomalies)] {
			d.Anomalies = append(d.Anomalies, newPageAnomaly(r, &r.Anomalies[i], fmt.Sprintf("a%d", i+1)))
		}
		d.Kinds = kinds(r)
		d.More = more(r, maxAnomalies)
		if d.Small = o.Small; larger(r) {
			d.Shrink = cmp.Or(o.Shrink, "isovet shrink "+escape.Shell(name)+" --level "+r.Level.String()+
				" -o small.jsonl")
		}
		d.Deps = used(r.Anomalies)
		d.Mechanisms = newPageMechanisms(r)
		d.Order = newPageOrder(r)
		d.drawRun(cmp.Or(o.Whole, h), h, r.Anomalies)
	}
	return d.write(w)
}

// drawRun draws a run of Jepsen's: timelines of keys from a part of it, those of anomalies first.
func (d *pageData) drawRun(whole, part *history.History, as []evidence.Anomaly) {
	if whole.Run != nil {
		d.Run = newPageRun(whole, part, as, history.None, 0)
	}
}

// kinds counts the anomalies of each kind. It returns nil if all are of one kind.
func kinds(r *evidence.Result) []pair {
	if len(r.Anomalies) < 2 {
		return nil
	}
	n := map[string]int{}
	for i := range r.Anomalies {
		n[r.Anomalies[i].Title(r.H)]++
	}
	return kindPairs(n)
}

func kindPairs(kinds map[string]int) []pair {
	return slice.Map(byCount(kinds), func(k string) pair { return pair{k, fmt.Sprint(kinds[k])} })
}

// larger reports whether a violation's history has transactions that none of its anomalies needs.
func larger(r *evidence.Result) bool {
	if r.Verdict != evidence.Violated || len(r.Anomalies) == 0 {
		return false
	}
	named := map[uint32]bool{}
	for _, a := range slice.Refs(r.Anomalies) {
		for _, t := range a.Txns {
			named[t] = true
		}
		for _, op := range slices.Concat(append(slices.Clone(a.Dead), a.Ops)...) {
			named[r.H.TxnOf(op)] = true
		}
		for _, e := range a.Edges() {
			named[e.From], named[e.To] = true, true
		}
	}
	delete(named, history.None)
	delete(named, r.H.Init)
	return transactions(r.H) > len(named)
}

func (d *pageData) write(w io.Writer) error {
	var p pageWriter
	p.page(d)
	_, err := io.WriteString(w, escape.XML(p.String()))
	return err
}

// MetaPairs returns the fields of a history's header as names and values.
func MetaPairs(h *history.History) (out []pair) {
	for _, p := range []pair{{"name", h.Meta.Name}, {"database", h.Meta.DB}, {"isolation asked for", h.Meta.Isolation},
		{"workload", h.Meta.Workload}, {"note", h.Meta.Note}} {
		if p.Value != "" {
			out = append(out, p)
		}
	}
	return out
}

// firstLines returns the first lines of a text, at most most bytes, and says how many lines follow.
func firstLines(text string, most int) string {
	if len(text) <= most {
		return text
	}
	end := strings.LastIndexByte(text[:most], '\n')
	if end < 0 {
		end = most
		for !utf8.RuneStart(text[end]) {
			end--
		}
		return text[:end] + " …"
	}
	return text[:end] + "\n… " + plural.Of(strings.Count(strings.TrimSuffix(text[end+1:], "\n"), "\n")+1, "more line")
}

// newPageAnomaly prepares an anomaly for the page; id is its HTML id.
func newPageAnomaly(r *evidence.Result, a *evidence.Anomaly, id string) pageAnomaly {
	h := r.H
	s := newScene(h, []evidence.Anomaly{*a})
	p := pageAnomaly{ID: id, Title: a.Title(h), Text: firstLines(textOf(a, r), maxText), Short: newInShort(r, a, s),
		Lists: listsOf(r, s), Linear: linearOf(r, a)}
	cycles := a.AllCycles()
	switch {
	case len(cycles) < 2:
	case a.Kind.Base() == level.Divergence:
		p.Many = "Whichever came first, the others did not see its write. Each case takes two of them:"
	default:
		p.Many = "The reads leave the order of some versions open. Every possible order closes one of these cycles."
	}
	room := circleRoom
	ids := edgeIDs{}
	for i, c := range cycles {
		if i == maxCases {
			p.More = len(cycles) - i
			break
		}
		one := pageCase{N: i + 1, Of: len(cycles), ID: fmt.Sprintf("%sc%d", id, i+1)}
		if n := min(len(c), MaxNodes); room >= n || i == 0 {
			one.Figure = markup(circle(h, c, one.ID, MaxNodes))
			room -= n
		}
		for j, e := range c {
			if j == maxSteps {
				one.Steps = append(one.Steps, pageStep{Text: fmt.Sprintf("and %d more, which the certificate lists",
					len(c)-j)})
				break
			}
			step := pageStep{ID: fmt.Sprintf("%se%d", one.ID, j), Dep: e.Dep.String(), Text: why(h, e),
				Rests: restsOn(r, a, s, e)}
			one.Steps = append(one.Steps, step)
			ids[e] = strings.TrimPrefix(ids[e]+" "+step.ID, " ")
		}
		if len(c) > 0 {
			one.So = fmt.Sprintf("So %s would come before itself: a contradiction.", txnName(h, c[0].From))
		}
		p.Cases = append(p.Cases, one)
	}
	p.Timeline = markup(timeline(r, s, ids, MaxNodes))
	return p
}

// statPairs lists the statistics that are not zero.
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
