package report

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/escape"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// Item is what a program that collects results gets for one history: one answer, one answer a level, or an error. Work
// is the answer of a workload's rule for operations.
type Item struct {
	Path    string
	Answers []*evidence.Result
	Work    *Work
	Err     error
	Seconds float64
}

// Stream writes a document with the results of many histories, one item at a time. It keeps nothing between calls, so
// that several processes can write in turn. Begin and End write what surrounds the items.
type Stream struct {
	// Begin gets the number of items, and the number of answers for each.
	Begin func(w io.Writer, items, answers int) error
	// Item writes item i, counted from 0. said is the number of findings of the earlier items.
	Item func(w io.Writer, i, answers, said int, it *Item) error
	// End gets the exit status. If the items end early, reason says why.
	End func(w io.Writer, status int, reason string) error
}

// NewStream returns the writer of a document: "junit", "sarif" or "github". It returns false for other names.
func NewStream(name, version string) (Stream, bool) {
	switch name {
	case "junit":
		return junit, true
	case "sarif":
		return sarif(version), true
	case "github":
		return github, true
	}
	return Stream{}, false
}

// Findings returns the number of an item's problems: violations, unknown verdicts, errors.
func (it *Item) Findings() (n int) {
	for _, fs := range it.all() {
		n += len(fs)
	}
	if it.unanswered() {
		n++
	}
	return n
}

// all returns the findings of each answer.
func (it *Item) all() (out [][]finding) {
	out = slice.Map(it.Answers, func(r *evidence.Result) []finding { return findings(it.Path, r) })
	if it.Work != nil {
		out = append(out, it.Work.findings(it.Path))
	}
	return out
}

// unanswered reports whether the item has only an error.
func (it *Item) unanswered() bool { return len(it.Answers) == 0 && it.Work == nil }

// spot is a line of a file. Line 0 means that the line is unknown.
type spot struct {
	file string
	line int
	what string
}

// repository returns the root folder of the repository: GITHUB_WORKSPACE or, without it, the nearest folder with .git
// from the working folder upwards. It returns "" if there is none.
func repository() string {
	root := os.Getenv("GITHUB_WORKSPACE")
	if dir, err := os.Getwd(); root == "" && err == nil {
		for ; root == "" && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
				root = dir
			}
		}
	}
	return root
}

// inRepository returns a file's name relative to the repository, with slashes. A file outside keeps its name.
func inRepository(file string) string {
	root := repository()
	if at, err := filepath.Abs(file); root != "" && file != "-" && err == nil {
		if rel, err := filepath.Rel(root, at); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return file
}

// finding is something wrong with a history at a level.
type finding struct {
	kind, title, text string
	unknown           bool
	at                spot   // the program's line of a transaction of the cycle, else the history's of the first
	with              []spot // the others
	txns              []int64
	level, checker    string
	workload          string // in a level's place
	of                int    // number of findings of the kind; 0: not counted
}

// findings returns the findings of an answer. It returns none if the verdict is valid or no checker decides the level.
func findings(path string, r *evidence.Result) (out []finding) {
	switch r.Verdict {
	case evidence.Holds:
		return nil
	case evidence.Unknown:
		if skipped(r) {
			return nil
		}
		return []finding{{kind: "unknown", title: "unknown at " + r.Label(), text: r.Reason, unknown: true,
			at: spot{file: path}, level: r.Label(), checker: r.Checker}}
	}
	for _, a := range slice.Refs(r.Anomalies) {
		f := finding{kind: string(a.Kind), title: a.Title(r.H) + " violates " + r.Label(), text: textOf(a, r),
			level: r.Label(), checker: r.Checker, at: spot{file: path}}
		var all []spot
		for _, t := range a.Txns {
			f.txns = append(f.txns, r.H.Txns.ID[t])
			// A native file has no lines: these are of its source.
			if line := r.H.Txns.Line[t]; line > 0 && t != r.H.Init && !strings.Contains(path, ".ivh") {
				all = append(all, spot{path, int(line), fmt.Sprintf("T%d", r.H.Txns.ID[t])})
			}
		}
		if len(all) > 0 {
			f.at, f.with = all[0], all[1:]
		}
		for _, t := range a.Txns {
			if at, ok := inSource(r.H, t); ok { // the place that the reader can change
				f.at, f.with = at, all
				break
			}
		}
		out = append(out, f)
	}
	return out
}

// skipped reports whether no checker decides the level for the history.
func skipped(r *evidence.Result) bool { return r.Verdict == evidence.Unknown && r.Checker == "" }

// mistake returns the place of an item's error, if it is known.
func (it *Item) mistake() spot {
	at := spot{file: it.Path}
	if in, ok := errors.AsType[*history.InputError](it.Err); ok {
		at.line = in.Line
	}
	return at
}

func (it *Item) errText() string {
	if it.Err == nil {
		return "no answer"
	}
	return it.Err.Error()
}

// Totals sums up the results of many histories.
type Totals struct {
	Histories int            `json:"histories,omitempty"`
	Valid     int            `json:"valid,omitempty"`
	Violated  int            `json:"violated,omitempty"`
	Open      int            `json:"open,omitempty"`
	Failed    int            `json:"failed,omitempty"` // without an answer: bad input, or an internal error
	Kinds     map[string]int `json:"kinds,omitempty"`  // of the first anomaly of each violated history
}

// Add counts a history as violated if one of its levels is violated, or else as open if one verdict is unknown.
func (t *Totals) Add(it *Item) {
	t.Histories++
	violated, open := false, false
	for _, r := range it.Answers {
		if r.Verdict == evidence.Violated && !violated {
			violated = true
			t.kind(string(r.Anomalies[0].Kind))
		}
		open = open || r.Verdict == evidence.Unknown && !skipped(r)
	}
	if w := it.Work; w != nil {
		if violated = w.Answer.Verdict == evidence.Violated; violated && len(w.Answer.Findings) > 0 {
			t.kind(w.Answer.Findings[0].Kind)
		}
		open = w.Answer.Verdict == evidence.Unknown
	}
	switch {
	case it.unanswered():
		t.Failed++
	case violated:
		t.Violated++
	case open:
		t.Open++
	default:
		t.Valid++
	}
}

// kind adds a violated history's first anomaly to the counts.
func (t *Totals) kind(name string) {
	slice.MakeMap(&t.Kinds)
	t.Kinds[name]++
}

// String returns the totals in a line.
func (t *Totals) String() string {
	parts := []string{}
	add := func(n int, one, many string) {
		if n > 0 {
			parts = append(parts, plural.Phrase(n, one, many))
		}
	}
	add(t.Valid, "valid", "valid")
	add(t.Violated, "violation", "violations")
	if len(t.Kinds) > 0 {
		parts[len(parts)-1] += " (" + kindCounts(t.Kinds) + ")"
	}
	add(t.Open, "unknown", "unknown")
	add(t.Failed, "without an answer", "without an answer")
	return plural.Of(t.Histories, "history") + ": " + strings.Join(parts, ", ")
}

// kindCounts lists kinds, the most frequent first.
func kindCounts(kinds map[string]int) string {
	return strings.Join(slice.Map(byCount(kinds), func(k string) string { return fmt.Sprint(kinds[k], " ", k) }), ", ")
}

// byCount returns the kinds, the most frequent first, and equally frequent ones by name.
func byCount(kinds map[string]int) []string {
	names := slices.Sorted(maps.Keys(kinds))
	sorts.Stable(names, func(a, b string) int { return kinds[b] - kinds[a] })
	return names
}

// Kinds counts an answer's anomalies by kind: all of them if the checker counted all, or else the listed ones.
func Kinds(r *evidence.Result) map[string]int {
	out := map[string]int{}
	for k, n := range r.Counts {
		out[string(k)] = n
	}
	if r.Counts != nil {
		return out
	}
	for i := range r.Anomalies {
		out[string(r.Anomalies[i].Kind)]++
	}
	return out
}

// maxAnnotations is the largest number of annotations of one kind that GitHub shows for a step.
const maxAnnotations = 10

// github writes workflow commands for the log of GitHub Actions: one annotation for each finding, at the line of its
// first transaction. Valid histories get no annotation.
var github = Stream{
	Begin: func(io.Writer, int, int) error { return nil },
	Item: func(w io.Writer, _, _, _ int, it *Item) error {
		var b strings.Builder
		for _, fs := range it.all() {
			for _, f := range fs[:min(len(fs), maxAnnotations)] {
				command := "error"
				if f.unknown {
					command = "warning"
				}
				b.WriteString(annotation(command, f.at, f.title, f.text))
			}
		}
		if it.unanswered() {
			b.WriteString(annotation("error", it.mistake(), "no answer", it.errText()))
		}
		_, err := io.WriteString(w, b.String())
		return err
	},
	End: func(io.Writer, int, string) error { return nil },
}

func annotation(command string, at spot, title, text string) string {
	where := ""
	if at.file != "-" {
		where = "file=" + property(inRepository(at.file)) + ","
		if at.line > 0 {
			where += fmt.Sprintf("line=%d,", at.line)
		}
	}
	return fmt.Sprintf("::%s %stitle=%s::%s\n", command, where, property(title), data(text))
}

// data and property escape text by the rules of GitHub's workflow commands.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string { return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s)) }

// junit writes the XML that CI systems call JUnit's: a suite for each history, a case for each level. An unknown
// verdict and an unreadable file are errors in it; only a violation is a failure.
//
// Source: the schema of Jenkins' xUnit plugin, junit-10.xsd.
var junit = Stream{
	Begin: func(w io.Writer, _, _ int) error {
		_, err := io.WriteString(w, xml.Header+`<testsuites name="isovet">`+"\n")
		return err
	},
	Item: func(w io.Writer, _, answers, _ int, it *Item) error {
		s := junitSuite{Name: escape.XML(it.Path), Time: seconds(it.Seconds)}
		s.Cases = slice.Map(it.Answers, func(r *evidence.Result) junitCase { return junitCaseOf(it, r) })
		if it.Work != nil {
			s.Cases = append(s.Cases, it.Work.junitCase(it))
		}
		if it.unanswered() {
			c := junitCase{Name: "check", Class: s.Name, Time: s.Time,
				Error: &junitWhy{"bad input", escape.XML(it.errText()), escape.XML(it.errText())}}
			s.Cases = append(s.Cases, c)
		}
		for _, c := range slice.Refs(s.Cases) {
			s.Tests++
			s.Failures += one(c.Failure != nil)
			s.Errors += one(c.Error != nil)
			s.Skipped += one(c.Skipped != nil)
		}
		b, err := xml.MarshalIndent(s, "  ", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(b, '\n'))
		return err
	},
	End: func(w io.Writer, _ int, _ string) error {
		_, err := io.WriteString(w, "</testsuites>\n")
		return err
	},
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string    `xml:"name,attr"`
	Class   string    `xml:"classname,attr"`
	Time    string    `xml:"time,attr"`
	Skipped *junitWhy `xml:"skipped,omitempty"`
	Error   *junitWhy `xml:"error,omitempty"`
	Failure *junitWhy `xml:"failure,omitempty"`
	Out     string    `xml:"system-out,omitempty"`
}

type junitWhy struct {
	Type    string `xml:"type,attr,omitempty"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func junitCaseOf(it *Item, r *evidence.Result) junitCase {
	c := junitCaseWith(it, r.Label(), r.Stats.LoadMS+r.Stats.CheckMS, findings(it.Path, r), Summary(r), nil)
	if skipped(r) {
		c.Skipped = &junitWhy{"", escape.XML(r.Reason), ""}
	}
	return c
}

// junitCaseWith returns a case with findings. counts has the number of anomalies of each kind if fs lists only some.
func junitCaseWith(it *Item, name string, ms float64, fs []finding, out string, counts map[string]int) junitCase {
	c := junitCase{Name: name, Class: escape.XML(it.Path), Time: seconds(ms / 1e3), Out: escape.XML(out)}
	switch {
	case len(fs) > 0 && fs[0].unknown:
		c.Error = &junitWhy{"unknown", escape.XML(fs[0].text), ""}
	case len(fs) > 0:
		var b strings.Builder
		for _, f := range fs {
			fmt.Fprintf(&b, "%s\n%s", f.title, f.text)
			if f.at.line > 0 {
				fmt.Fprintf(&b, "\n%s:%d", f.at.file, f.at.line)
			}
			b.WriteString("\n")
		}
		if counts != nil {
			b.WriteString("in all: " + kindCounts(counts) + "\n")
		}
		c.Failure = &junitWhy{fs[0].kind, escape.XML(fs[0].title), escape.XML(b.String())}
	}
	return c
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
