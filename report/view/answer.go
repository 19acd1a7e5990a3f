package view

import (
	"bytes"
	"io"
	"sync"

	"isovet/check"
	"isovet/check/shrink"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/escape"
	"isovet/report"
)

// answer is the result of a check at one level or at all levels, or of replaying a certificate.
type answer struct {
	answerSummary
	name    string
	r       *evidence.Result
	lattice *check.Lattice // of a check at all levels; r is nil then
	small   *shrink.Result // the smallest history, once it was looked for

	once sync.Once
	at   []uint32 // places in the order that a check found, from 1; 0: none
}

// answerSummary describes an answer in one line.
type answerSummary struct {
	N           int    `json:"n"`
	Level       string `json:"level"`
	Checker     string `json:"checker"`
	Verdict     string `json:"verdict"`
	Reason      string `json:"reason,omitempty"`
	Summary     string `json:"summary"`
	Found       int    `json:"found"`                 // anomalies listed
	Certificate string `json:"certificate,omitempty"` // the file that it is from
	Refuted     string `json:"refuted,omitempty"`     // why the certificate does not prove what it says
	Small       int    `json:"small,omitempty"`       // the book of the smallest history
	SmallSize   string `json:"small_size,omitempty"`
	Levels      bool   `json:"levels,omitempty"`
}

func newAnswer(name string, r *evidence.Result) *answer {
	return &answer{name: name, r: r, answerSummary: answerSummary{Level: r.Label(), Checker: r.Checker,
		Verdict: r.Verdict.String(), Reason: escape.XML(r.Reason), Summary: escape.XML(report.Summary(r)),
		Found: len(r.Anomalies)}}
}

func newLatticeAnswer(name string, l *check.Lattice) *answer {
	a := &answer{name: name, lattice: l, answerSummary: answerSummary{Level: "all levels", Checker: check.AutoName,
		Levels: true, Verdict: evidence.Holds.String()}}
	a.Summary = "holds: " + report.LevelNames(l.Holding) + "; fails: " + report.LevelNames(l.Failing)
	if len(l.Failing) > 0 {
		a.Verdict = evidence.Violated.String()
	} else if len(l.Holding) == 0 {
		a.Verdict = evidence.Unknown.String()
	}
	for _, f := range report.Failures(l.Results) {
		a.Found += len(f.Result.Anomalies)
	}
	return a
}

// answerJSON is an answer with its anomalies.
type answerJSON struct {
	answerSummary
	Text      string        `json:"text"`
	Anomalies []anomalyJSON `json:"anomalies"`
	Also      int           `json:"also,omitempty"`
	Rows      []levelJSON   `json:"rows,omitempty"` // of a check at all levels
}

// anomalyJSON is an anomaly: its transactions, their times, and its cycles.
type anomalyJSON struct {
	Title  string       `json:"title"`
	Level  string       `json:"level,omitempty"` // of a check at all levels
	Txns   []nameJSON   `json:"txns"`
	Beside []nameJSON   `json:"beside"` // wrote what these read
	From   int64        `json:"from"`
	To     int64        `json:"to"`
	Rows   []int        `json:"rows"`
	Cycles [][]edgeJSON `json:"cycles"`
	Nodes  []nodeJSON   `json:"nodes"`
	Text   string       `json:"text"`
}

type levelJSON struct {
	Level   string `json:"level"`
	Verdict string `json:"verdict"`
	Checker string `json:"checker"`
	What    string `json:"what"`
	Jump    int    `json:"jump"` // the number of the anomaly among those listed, from 0; -1: none
}

// Limits of the lists in an answer.
const (
	maxAnomalies = 100
	maxCycles    = 12
	maxEdges     = 60 // of a cycle
	maxInvolved  = 200
)

func (b *book) tell(a *answer) (answerJSON, error) {
	b.mu.Lock()
	out := answerJSON{answerSummary: a.answerSummary, Anomalies: []anomalyJSON{}}
	b.mu.Unlock()
	if a.lattice != nil {
		b.tellLevels(a.lattice, &out)
		return out, nil
	}
	var text bytes.Buffer
	if err := report.Text(&text, a.name, a.r, report.TextOptions{MaxAnomalies: 10, MaxLines: 60}); err != nil {
		return out, err
	}
	out.Text, out.Also = escape.XML(text.String()), a.r.Also+max(0, len(a.r.Anomalies)-maxAnomalies)
	for i := range a.r.Anomalies[:min(len(a.r.Anomalies), maxAnomalies)] {
		out.Anomalies = append(out.Anomalies, b.anomaly(a.r, &a.r.Anomalies[i]))
	}
	return out, nil
}

func (b *book) tellLevels(l *check.Lattice, out *answerJSON) {
	had := map[string]int{}
	for _, r := range l.Results {
		j := levelJSON{Level: r.Label(), Verdict: r.Verdict.String(), Checker: r.Checker, What: r.Reason, Jump: -1}
		if r.Verdict == evidence.Violated && len(r.Anomalies) > 0 && r.H != nil {
			an := &r.Anomalies[0]
			j.What = an.Title(r.H)
			at, ok := had[an.Text]
			if !ok {
				at = len(out.Anomalies)
				had[an.Text] = at
				one := b.anomaly(r, an)
				one.Level = r.Label()
				out.Anomalies = append(out.Anomalies, one)
			}
			j.Jump = at
		}
		j.What = escape.XML(j.What)
		out.Rows = append(out.Rows, j)
	}
}

func (b *book) anomaly(r *evidence.Result, a *evidence.Anomaly) anomalyJSON {
	x := b.axis
	out := anomalyJSON{Title: a.Title(r.H), Text: escape.XML(a.Text), Txns: []nameJSON{},
		Beside: []nameJSON{}, Rows: []int{}, Cycles: [][]edgeJSON{}, Nodes: []nodeJSON{}, From: x.span}
	had := map[uint32]bool{}
	add := func(t uint32, frame bool) {
		if t == history.None || had[t] || len(out.Nodes) == maxInvolved {
			return
		}
		had[t] = true
		out.Nodes = append(out.Nodes, b.node(t))
		if !frame { // it wrote what others read, and did nothing wrong
			out.Beside = append(out.Beside, b.named(t))
			return
		}
		out.Txns = append(out.Txns, b.named(t))
		if t == x.h.Init {
			return
		}
		out.From, out.To = min(out.From, x.start[t]), max(out.To, x.end[t])
		if x.isOpen(t) {
			out.To = max(out.To, x.start[t])
		}
		out.Rows = append(out.Rows, int(x.rowOf[t]))
	}
	for _, op := range a.Ops {
		add(r.H.TxnOf(op), true)
	}
	cycles := a.AllCycles()
	for _, c := range cycles[:min(len(cycles), maxCycles)] {
		edges := []edgeJSON{}
		for _, e := range c[:min(len(c), maxEdges)] {
			add(e.From, true)
			add(e.To, true)
			known, by := true, ""
			if len(a.Cycles) > 0 && e.Dep != evidence.SO && e.Dep != evidence.RT && e.Dep != evidence.WR &&
				e.Dep != evidence.TS {
				known, by = false, "this case assumes that order of the versions"
			}
			edges = append(edges, newEdgeJSON(r, a, e, known, by))
		}
		out.Cycles = append(out.Cycles, edges)
	}
	framed := len(out.Txns) == 0
	for _, t := range a.Txns {
		add(t, framed)
	}
	out.To = max(out.To, out.From)
	return out
}

// page writes the evidence as the page of isovet check --report.
func (a *answer) page(w io.Writer) error {
	if a.lattice != nil {
		return report.LatticeHTML(w, a.name, a.lattice.Results, a.lattice.Holding, a.lattice.Failing)
	}
	return report.HTML(w, a.name, a.r)
}

// places returns the places of two transactions in the commit order of a valid history.
func (a *answer) places(h *history.History, t, u uint32) (x, y uint32, ok bool) {
	if a.r == nil || a.r.Verdict != evidence.Holds || a.r.H != h || a.Refuted != "" ||
		!a.r.Level.Serial() && !a.r.Level.Snapshot() {
		return 0, 0, false
	}
	a.once.Do(func() {
		a.at = make([]uint32, h.NumTxns())
		for i, e := range a.r.Order {
			if a.r.Level.Snapshot() {
				if e&1 == 0 {
					continue // begins
				}
				e >>= 1
			}
			if int(e) < len(a.at) {
				a.at[e] = uint32(i) + 1
			}
		}
	})
	return a.at[t], a.at[u], a.at[t] != 0 && a.at[u] != 0
}
