package watch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/level"
	"isovet/solver"
	"isovet/watch/online"
)

// The classes of replay's findings, besides those for transactions that are not judged.
const (
	violated  = "VIOLATION"
	undecided = "UNDECIDED"
)

// ReplayViolation is a finding of the judge replay, as a line of the file of violations.
type ReplayViolation struct {
	N     int64  `json:"n"` // from 1, in the order in which they became final
	Axiom string `json:"axiom"`
	Txn   int64  `json:"txn"`
	// Proved says that Anomaly is certified. Txns are its transactions, Text describes it.
	Proved  bool            `json:"proved,omitempty"`
	Level   level.Level     `json:"level"`
	Anomaly level.Anomaly   `json:"anomaly,omitempty"`
	Txns    []int64         `json:"txns,omitempty"`
	Other   *int64          `json:"other,omitempty"`
	Key     json.RawMessage `json:"key,omitempty"`
	Op      *uint32         `json:"op,omitempty"`
	Why     string          `json:"why,omitempty"`
	Text    string          `json:"text,omitempty"`
	// ProofAssumes is what the proof assumes; "" if nothing.
	ProofAssumes string `json:"proof_assumes,omitempty"`
}

// proofSteps bounds the steps of a proof (solver.WithSteps).
const proofSteps = 1 << 24

// atOnce bounds the proofs that are in memory at a time.
const atOnce = 64

func (j *replayJudge) Findings(each func(f *Finding) error) error {
	var proofs []*proof
	at := 0
	j.progress.cut = false
	for i := range j.found {
		if i == at+len(proofs) {
			var err error
			at = i
			if proofs, err = j.certifyAll(j.found[i:min(i+atOnce, len(j.found))]); err != nil {
				return err
			}
			if len(proofs) == 0 {
				j.progress.cut, j.found = true, j.found[i:]
				return nil
			}
		}
		f, p := &j.found[i], proofs[i-at]
		class := f.class()
		if p != nil && p.r.Verdict != evidence.Violated { // only a certified violation is called one
			class = undecided
		}
		out := Finding{Class: class, Unjudged: Unjudged(class), Txns: []int64{f.txn},
			Line: func(n int64) ([]byte, error) { return j.tell(n, class, f, p) }}
		switch {
		case f.ahead != nil:
			out.Txns[0] = f.ahead.Txn
		case !f.late:
			out.Txns[0] = f.f.Line
		}
		if class == violated {
			out.Proved = true
			out.Prove = func(*Log) (*Proof, error) { return certified(p.h, p.r), nil }
			out.Kind, out.Txns = string(p.r.Anomalies[0].Kind), p.txns()
			var err error
			if out.Key, err = j.keyOfRead(&f.f); err != nil {
				return err
			}
		}
		if err := each(&out); err != nil {
			return err
		}
	}
	j.found = j.found[:0]
	return nil
}

// class returns the class of the finding. A violation is in it only if it is certified.
func (f *replayFinding) class() string {
	switch {
	case f.ahead != nil:
		return f.ahead.Axiom
	case f.late, f.f.Kind == online.Late:
		return late
	case f.f.Kind == online.Undecided:
		return undecided
	}
	return violated
}

// proof is the result of certifying a refutation.
type proof struct {
	r *evidence.Result
	h *history.History
}

// txns returns the ids of the anomaly's transactions.
func (p *proof) txns() []int64 { return slice.Pick(p.h.Txns.ID, p.r.Anomalies[0].Txns) }

// keyOfRead returns the key of the unexplained read as JSON, or "" if the log no longer has it.
func (j *replayJudge) keyOfRead(f *online.Finding) (string, error) {
	w, err := j.recall(f.Line)
	if errors.Is(err, ErrNotKept) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if lo, hi := w.h.TxnOps(w.t); lo+f.Op < hi {
		return w.h.KeyString(w.h.VerKey[w.h.Ops.Ver[lo+f.Op]]), nil
	}
	return "", nil
}

func (j *replayJudge) tell(n int64, class string, f *replayFinding, p *proof) ([]byte, error) {
	switch {
	case f.ahead != nil:
		v := *f.ahead
		v.N = n
		return json.Marshal(&v)
	case f.late:
		return json.Marshal(&Violation{N: n, Axiom: late, Txn: f.txn})
	}
	w, err := j.recall(f.f.Line)
	if errors.Is(err, ErrNotKept) {
		return json.Marshal(&ReplayViolation{N: n, Axiom: class, Txn: -1, Level: j.o.Level, Why: err.Error()})
	}
	if err != nil {
		return nil, err
	}
	v := &ReplayViolation{N: n, Axiom: class, Txn: w.id, Level: j.o.Level}
	if lo, hi := w.h.TxnOps(w.t); lo+f.f.Op < hi {
		v.Op, v.Key = w.op(f.f.Op), json.RawMessage(w.h.KeyString(w.h.VerKey[w.h.Ops.Ver[lo+f.f.Op]]))
	}
	if f.f.Other >= 0 {
		o, err := j.recall(f.f.Other)
		if err != nil && !errors.Is(err, ErrNotKept) {
			return nil, err
		}
		if err == nil {
			v.Other = &o.id
		}
	}
	switch {
	case class == violated:
		a := &p.r.Anomalies[0]
		v.Proved, v.Anomaly, v.Text, v.Txns = true, a.Kind,
			evidence.InSQL(evidence.Describe(a, p.h), a, p.h), p.txns()
		if !f.f.Itself {
			v.ProofAssumes = unique
		}
	case p != nil:
		v.Why = "no order explains this; the proof of that could not be certified"
		if p.r.Reason != "" {
			v.Why += ": " + p.r.Reason
		}
	case f.f.Why != "":
		v.Why = f.f.Why
	case class == undecided:
		v.Why = "no order of the transactions in memory explains this, but alone they do not violate the level"
	}
	return json.Marshal(v)
}

// recall reads a transaction from the log again.
func (j *replayJudge) recall(n int64) (recalled, error) {
	line, err := j.stream.line(n)
	if err != nil {
		return recalled{}, err
	}
	b := NewBatch(1, [][]byte{line}) // not of the first line, which might be a header
	if l := &b.Lines[0]; l.Err != nil || l.Txn == history.None {
		// The line is not understood: its understood part was taken, since its writes may have been read.
		if b = NewBatch(1, [][]byte{understood(line)}); b.Lines[0].Err != nil || b.Lines[0].Txn == history.None {
			return recalled{}, fmt.Errorf("line %d of the log cannot be read again: %w", n, l.Err)
		}
		head := b.Heads[0]
		head.Start = history.NoTime
		return recalled{h: b.H, id: j.id(head.HasID, head.ID, n), head: head}.items()
	}
	head := &b.Heads[0]
	if j.untimed(head) { // it was not judged
		head.Status = history.Unknown
	}
	return recalled{h: b.H, id: j.id(head.HasID, head.ID, n), head: *head}.items()
}

// items replaces predicate operations by reads and writes, as the judge takes them.
func (w recalled) items() (recalled, error) {
	if !w.h.HasPredicates() {
		return w, nil
	}
	b := history.NewBuilder()
	from := w.h
	eachItem(from, w.t, func(kind history.OpKind, v, op uint32) {
		put := b.Read
		if kind == history.Write {
			put = b.Write
		}
		put(b.KeyOf(from, from.VerKey[v]), b.ValueOf(from, from.VerValue(v)))
		w.ops = append(w.ops, op)
	})
	if w.head.Name != history.None {
		w.head.Name = b.Text(from.Texts.Text(w.head.Name))
	}
	b.EndTxn(history.NewTxnHead())
	h, err := b.Build()
	w.h = h
	return w, err
}

// op returns the operation of the line that a read or write of h belongs to.
func (w *recalled) op(at uint32) *uint32 {
	if int(at) < len(w.ops) {
		at = w.ops[at]
	}
	return &at
}

// certifyAll certifies violations on all cores, each in a history of its transactions and the writers of their reads.
// With many violations this is most of the work. Other findings have no proof. If it is interrupted, it has certified
// the first violations.
func (j *replayJudge) certifyAll(found []replayFinding) (proofs []*proof, err error) {
	replay, err := check.ByName("replay")
	if err != nil {
		return nil, err
	}
	proofs = make([]*proof, len(found))
	faults := make([]error, len(found))
	var group safego.Group
	room := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range found {
		if found[i].class() != violated {
			continue
		}
		if j.progress.stop != nil && j.progress.stop() {
			proofs = proofs[:i]
			break
		}
		h, err := j.part(&found[i].f)
		if errors.Is(err, ErrNotKept) {
			proofs[i] = &proof{r: &evidence.Result{Reason: err.Error()}}
			continue
		}
		if err != nil {
			group.Wait()
			return nil, err
		}
		p := &proof{h: h}
		proofs[i] = p
		room <- struct{}{}
		group.Go(func() {
			defer func() { <-room }()
			ctx, end := solver.WithSteps(context.Background(), proofSteps)
			defer end()
			p.r, faults[i] = check.Run(ctx, replay, p.h, check.Options{Level: j.o.Level, ClockSkew: j.o.Skew})
		})
	}
	group.Wait()
	return proofs, errors.Join(faults...)
}

// replayPart builds a history of a proof's transactions.
type replayPart struct {
	b      *history.Builder
	wrote  map[string]bool // key and value
	wanted map[string]bool
	keys   map[string]bool // that members read
	lowest int64           // of the ids
	// The versions that members read: initial ones, and those with a writer outside the stream.
	initials, strangers []versionIn
}

type versionIn struct {
	h *history.History
	v uint32
}

func versionOf(h *history.History, v uint32) string {
	return string(h.Texts.AppendValue(append(h.Texts.AppendValue(nil, h.Keys[h.VerKey[v]]), ' '), h.VerValue(v)))
}

// part makes the history of a finding: its members, with the reads whose writers are known, and other transactions,
// with the writes that members read.
func (j *replayJudge) part(f *online.Finding) (*history.History, error) {
	p := replayPart{b: smallWith(j.stream.head), wrote: map[string]bool{}, wanted: map[string]bool{},
		keys: map[string]bool{}}
	var ws []recalled
	for _, m := range f.Members {
		w, err := j.recall(m.Line)
		if err != nil {
			return nil, err
		}
		ws = append(ws, w)
		p.lowest = min(p.lowest, w.id)
	}
	for i := range ws { // a line that was not understood may have the id of another
		if slices.ContainsFunc(ws[:i], func(o recalled) bool { return o.id == ws[i].id }) {
			p.lowest--
			ws[i].id = p.lowest
		}
	}
	p.note(f, ws)
	if err := j.addInitial(&p); err != nil {
		return nil, err
	}
	thin := slice.Set(f.Thin)
	for i, w := range ws {
		if f.Members[i].Outside {
			p.outsider(w)
		} else {
			p.member(w, &f.Members[i], thin)
		}
	}
	for _, g := range p.strangers {
		p.write(g.h, g.v)
		head := history.NewTxnHead()
		head.Status = history.Unknown
		p.endNew(head)
	}
	return p.b.Build()
}

// note collects the versions that are written and read.
func (p *replayPart) note(f *online.Finding, ws []recalled) {
	first, unseen := slice.Set(f.Initial), slice.Set(f.Unseen)
	for i, w := range ws {
		if f.Members[i].Outside {
			continue
		}
		lo, hi := w.h.TxnOps(w.t)
		for op := lo; op < hi; op++ {
			v := w.h.Ops.Ver[op]
			name := versionOf(w.h, v)
			if w.h.Ops.Kind[op] == history.Write {
				p.wrote[name] = true
				continue
			}
			at := online.ReadAt{Line: f.Members[i].Line, Op: op - lo}
			p.wanted[name], p.keys[w.h.KeyString(w.h.VerKey[v])] = true, true
			if first[at] && !p.wrote["first "+name] {
				p.wrote["first "+name] = true
				p.initials = append(p.initials, versionIn{w.h, v})
			}
			if unseen[at] {
				p.wrote[name] = true
				p.strangers = append(p.strangers, versionIn{w.h, v})
			}
		}
	}
	for i, w := range ws {
		lo, hi := w.h.TxnOps(w.t)
		for op := lo; op < hi && f.Members[i].Outside; op++ {
			if v := w.h.Ops.Ver[op]; w.h.Ops.Kind[op] == history.Write && p.wanted[versionOf(w.h, v)] {
				p.wrote[versionOf(w.h, v)] = true
			}
		}
	}
}

// addInitial adds initial values: those of the initial transaction, or else those that reads show.
func (j *replayJudge) addInitial(p *replayPart) error {
	known := map[string]bool{}
	if j.stream.init >= 0 {
		w, err := j.recall(j.stream.init)
		switch {
		case errors.Is(err, ErrNotKept): // what reads show must do
		case err != nil:
			return err
		default:
			for _, v := range w.h.EachOp(w.t) {
				if k := w.h.KeyString(w.h.VerKey[v]); p.keys[k] {
					p.write(w.h, v)
					known[k] = true
					p.wrote[versionOf(w.h, v)] = true
				}
			}
		}
	}
	for _, g := range p.initials {
		k := g.h.KeyString(g.h.VerKey[g.v])
		if val := g.h.VerValue(g.v); !known[k] {
			known[k] = true
			p.wrote[versionOf(g.h, g.v)] = true
			if val.Kind != history.Null || p.b.Initial.Kind != history.Null {
				p.write(g.h, g.v)
			}
		}
	}
	if p.b.NumOps() > 0 {
		head := history.NewTxnHead()
		head.Init = true
		p.endNew(head)
	}
	return nil
}

// endNew ends a transaction that the history invents. Its id is below 0 and below all ids of the part, since a larger
// one could belong to another transaction of the stream.
func (p *replayPart) endNew(head history.TxnHead) {
	p.lowest--
	head.ID, head.HasID = p.lowest, true
	p.b.EndTxn(head)
}

// write adds a write of a version of another history.
func (p *replayPart) write(h *history.History, v uint32) {
	p.b.Write(p.b.KeyOf(h, h.VerKey[v]), p.b.ValueOf(h, h.VerValue(v)))
}

// outsider adds a transaction with only the writes that members read.
func (p *replayPart) outsider(w recalled) {
	for op, v := range w.h.EachOp(w.t) {
		if w.h.Ops.Kind[op] == history.Write && (p.wanted[versionOf(w.h, v)] || p.keys[w.h.KeyString(w.h.VerKey[v])]) {
			p.write(w.h, v)
		}
	}
	p.finish(w, false)
}

// member adds a transaction of a proof.
func (p *replayPart) member(w recalled, m *online.Member, thin map[online.ReadAt]bool) {
	h := w.h
	lo, hi := h.TxnOps(w.t)
	without := map[uint32]bool{} // keys whose reads are left out until the transaction writes them
	own := map[uint32]uint32{}
	at := 0
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		k := h.VerKey[v]
		if h.Ops.Kind[op] == history.Write {
			own[k] = v
			p.write(h, v)
			continue
		}
		for at < len(m.Without) && m.Without[at] < op-lo {
			at++
		}
		if at < len(m.Without) && m.Without[at] == op-lo {
			without[k] = true
		}
		mine, written := own[k]
		kept := thin[online.ReadAt{Line: m.Line, Op: op - lo}] || written && versionOf(h, mine) == versionOf(h, v) ||
			!written && !without[k] && p.wrote[versionOf(h, v)]
		if kept {
			p.b.Read(p.b.KeyOf(h, k), p.b.ValueOf(h, h.VerValue(v)))
		}
	}
	p.finish(w, m.Alone)
}

// finish ends a transaction with its head from the log.
func (p *replayPart) finish(w recalled, alone bool) {
	head := w.head
	head.ID, head.HasID, head.HasSeq, head.Node = w.id, true, false, history.None
	if head.Name != history.None {
		head.Name = p.b.Text(w.h.Texts.Text(head.Name))
	}
	head.HasSess = head.HasSess && !alone
	p.b.EndTxn(head)
}
