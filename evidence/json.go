package evidence

import (
	"bytes"
	"encoding/json"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Report is a Result as `isovet check --json` writes it, one object per history. Field names are stable. Transactions
// are named by their ids in the file; keys and values are the file's.
type Report struct {
	History string         `json:"history"`
	Level   string         `json:"level"` // "ts:" before it where the verdict is about database timestamps
	Checker string         `json:"checker"`
	Solver  string         `json:"solver,omitempty"`
	Verdict Verdict        `json:"verdict"`
	Reason  string         `json:"reason,omitempty"` // with unknown only
	Note    string         `json:"note,omitempty"`   // how the answer was found, if not as asked for
	Notes   []history.Note `json:"notes,omitempty"`  // remarks of the program part that read the file
	// ImpliedBy is the level that decided this one: a stronger one that holds, or a weaker one that is violated.
	ImpliedBy string `json:"implied_by,omitempty"`
	// Stricter is the strict level of the same kind if it is violated while this one is valid.
	Stricter string `json:"stricter_violated,omitempty"`
	// Certified says what checked the answer's proof: "kernel", isovet-kernel's rules, or "replay", package certify;
	// NotByKernel then says why the kernel did not.
	Certified   string `json:"certified,omitempty"`
	NotByKernel string `json:"not_by_kernel,omitempty"`
	// DecidedBy is the checker that decided the answer, verdict or proof, if Checker asked another.
	DecidedBy string          `json:"decided_by,omitempty"`
	Anomalies []AnomalyReport `json:"anomalies"`
	Also      int             `json:"also,omitempty"` // further anomalies, not listed
	// Counts is the number of anomalies of each kind. RuledOut are the weakest levels that forbid one of them, MayHold
	// the strongest that forbid none.
	Counts   map[level.Anomaly]int `json:"counts,omitempty"`
	RuledOut []level.Level         `json:"ruled_out,omitempty"`
	MayHold  []level.Level         `json:"may_hold,omitempty"`
	// Hints are possible causes of a violation other than the database, see Hints.
	Hints []string `json:"hints,omitempty"`
	// Mechanisms are violations under a profile of the database; the verdict does not depend on them.
	Mechanisms *Mechanisms `json:"mechanisms,omitempty"`
	Stats      Stats       `json:"stats"`
}

// AnomalyReport is an Anomaly in a Report.
type AnomalyReport struct {
	Kind level.Anomaly `json:"kind"`
	Name string        `json:"name"` // in words
	Txns []int64       `json:"txns"`
	Ops  []OpReport    `json:"ops,omitempty"`
	// Key is the key that a predicate operation among Ops got wrong.
	Key json.RawMessage `json:"key,omitempty"`
	Why string          `json:"why,omitempty"` // of EXT
	// by transaction, why the writers that a G1a read from cannot have committed
	Dead   [][]OpReport   `json:"dead,omitempty"`
	Cycle  []EdgeReport   `json:"cycle,omitempty"`
	Cycles [][]EdgeReport `json:"cycles,omitempty"`
	Text   string         `json:"text"`
}

// OpReport is an operation: its transaction, its place in it from 0, and its text in the history format.
type OpReport struct {
	Txn   int64           `json:"txn"`
	Index uint32          `json:"index"`
	Op    json.RawMessage `json:"op"`
}

// EdgeReport is an Edge. Value is, for wr, what To read; for ww, what To installed; for rw, what From read; for a list
// the element. so and rt have neither key nor value. For pwr and prw, Op is the predicate operation's place in its
// transaction (To or From), Predicate is its predicate, and Value the version of Key that it was based on.
type EdgeReport struct {
	From      int64           `json:"from"`
	To        int64           `json:"to"`
	Dep       Dep             `json:"dep"`
	Key       json.RawMessage `json:"key,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
	Op        *uint32         `json:"op,omitempty"`
	Predicate json.RawMessage `json:"predicate,omitempty"`
}

// NewReport returns the report of a result for a history of this name.
func NewReport(r *Result, historyName string) *Report {
	out := &Report{History: historyName, Level: r.Label(), Checker: r.Checker, Solver: r.Solver, Verdict: r.Verdict,
		Reason: r.Reason, Note: r.Note, DecidedBy: r.DecidedBy, Certified: r.Certified, NotByKernel: r.NotByKernel,
		Anomalies: make([]AnomalyReport, len(r.Anomalies)), Also: r.Also, Stricter: r.Stricter,
		Mechanisms: r.Mechanisms, Stats: r.Stats}
	if r.Implied {
		out.ImpliedBy = r.ImpliedBy.String()
	}
	if out.Counts = r.Counts; r.Counts != nil {
		out.RuledOut, out.MayHold = r.Levels()
	}
	h := r.H
	if h != nil {
		out.Notes, out.Hints = h.Notes, Hints(r)
		for _, n := range h.Notes {
			if n.Kind == history.NoteNil {
				out.Stats.NotJudged = map[string]int{n.Kind: n.Count}
			}
		}
	}
	for i, a := range slice.Refs(r.Anomalies) {
		ops := func(ops []uint32) []OpReport {
			return slice.Map(ops, func(op uint32) OpReport {
				t := h.TxnOf(op)
				return OpReport{h.Txns.ID[t], op - h.Txns.OpOff[t], append(h.AppendOp(nil, op), ']')}
			})
		}
		cycle := func(c []Edge) []EdgeReport { return edgeReports(h, c) }
		j := AnomalyReport{Kind: a.Kind, Name: a.Kind.Name(), Ops: ops(a.Ops), Why: a.Why, Text: a.Text,
			Txns: append([]int64{}, slice.Pick(h.Txns.ID, a.Txns)...), Dead: slice.Map(a.Dead, ops),
			Cycle: cycle(a.Cycle), Cycles: slice.Map(a.Cycles, cycle)}
		if a.hasKey(h) {
			j.Key = h.Texts.AppendValue(nil, h.Keys[a.Key])
		}
		out.Anomalies[i] = j
	}
	return out
}

func edgeReports(h *history.History, c []Edge) []EdgeReport {
	return slice.Map(c, func(e Edge) EdgeReport {
		j := EdgeReport{From: h.Txns.ID[e.From], To: h.Txns.ID[e.To], Dep: e.Dep}
		if e.Key != history.None {
			j.Key = h.Texts.AppendValue(nil, h.Keys[e.Key])
			if e.Ver != history.None {
				j.Value = h.Texts.AppendValue(nil, h.VerValue(e.Ver))
			} else if e.Predicate() {
				j.Value = h.Texts.AppendValue(nil, h.Initial)
			} else if e.Dep == WR || e.Dep == WW || e.Dep == RW {
				j.Value = json.RawMessage("null")
			}
		}
		if e.Predicate() {
			j.Op, j.Predicate = new(e.Op-h.Txns.OpOff[e.predicateTxn()]), h.Texts.Text(h.Preds.Pred[h.Ops.Ver[e.Op]])
		}
		return j
	})
}

// JSON returns the report of a result as one line without a newline. Text is not escaped for HTML.
func JSON(r *Result, historyName string) ([]byte, error) { return plainJSON(NewReport(r, historyName)) }

func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
