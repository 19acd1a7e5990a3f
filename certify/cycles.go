package certify

import (
	"errors"
	"fmt"
	"slices"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
	"isovet/predicates"
)

func checkAnomalies(r *evidence.Result, o Options) error {
	x := newIndex(r.H)
	if r.H.HasPredicates() {
		var err error
		if x.truths, err = predicates.NewTruths(r.H); err != nil {
			return err
		}
	}
	for i := range r.Anomalies {
		x.wantAnomaly(&r.Anomalies[i])
	}
	x.build()
	newProof(x, r.Level, o.ClockSkew).bury()
	for i := range r.Anomalies {
		a := &r.Anomalies[i]
		err := x.checkAnomaly(a, r.Level, o)
		if err == nil {
			err = x.checkName(a, r.Level, o)
		}
		if err != nil {
			if _, ok := err.(*Unsupported); ok {
				return err
			}
			return fmt.Errorf("anomaly %d (%s): %w", i, a.Kind, err)
		}
	}
	return nil
}

func (x *index) checkAnomaly(a *evidence.Anomaly, l level.Level, o Options) error {
	if err := x.checkTxns(a); err != nil {
		return err
	}
	if a.Kind == level.NonLinearizable {
		return x.checkNoOrder(a, l, o)
	}
	if l == level.Linearizable {
		if err := oneKeyEach(x.h); err != nil {
			return err
		}
	}
	p := newProof(x, l, o.ClockSkew)
	if a.Kind == level.IncompatibleOrder && len(a.Ops) > 0 {
		if len(a.Cycle)+len(a.Cycles)+len(a.Dead) > 0 {
			return fmt.Errorf("operations beside cycles")
		}
		if !l.Serial() && !l.Snapshot() && l != level.RepeatableRead { // whose lists are those of serializability
			return &Unsupported{fmt.Sprintf("list reads that nothing explains together at level %s", l)}
		}
		return x.nobodyAppended(a.Ops, o)
	}
	if singleReads(a.Kind) {
		if len(a.Cycle) > 0 || len(a.Cycles) > 0 {
			return fmt.Errorf("an anomaly of single reads with a cycle")
		}
		if !l.Forbids(a.Kind) {
			return fmt.Errorf("%s allows it", l)
		}
		var t uint32
		var err error
		if len(a.Dead) > 0 {
			t, err = p.checkDead(a)
		} else {
			t, err = x.checkReads(a)
		}
		if err != nil {
			return err
		}
		if a.Kind == level.PredicateMismatch {
			p.mismatch(a, t)
		} else {
			p.clause(p.not(p.counts(nil, t)))
		}
	} else {
		if len(a.Cycle)+len(a.Cycles) == 0 {
			return fmt.Errorf("neither operations nor a cycle prove it")
		}
		if len(a.Ops)+len(a.Dead) > 0 {
			return fmt.Errorf("operations beside cycles")
		}
		if len(a.Cycle) > 0 {
			if err := p.cycle(a.Cycle); err != nil {
				return fmt.Errorf("the cycle: %w", err)
			}
		}
		for i, c := range a.Cycles {
			if err := p.cycle(c); err != nil {
				return fmt.Errorf("cycle %d of %d: %w", i+1, len(a.Cycles), err)
			}
		}
	}
	p.settle()
	p.inclusion()
	unsat, err := Unsatisfiable(p.clauses, o)
	if err != nil {
		return err
	}
	if !unsat {
		return fmt.Errorf("it does not exclude every order of the versions it assumes, nor that a transaction of unknown outcome aborted")
	}
	return nil
}

// checkName demands that the kind of a proof by cycles is the name of what they show: at the level, or at one that asks for fewer orders
// if the proof holds there too. Those of single reads and of operations without an order are part of their proofs.
func (x *index) checkName(a *evidence.Anomaly, l level.Level, o Options) error {
	if len(a.Cycle)+len(a.Cycles) == 0 {
		return nil
	}
	// On which orders the bases of predicate operations rest, only the proof says.
	named := a.Named(x.h, l, o.ClockSkew)
	shows := plain(x.h, l)
	for _, kind := range []level.Anomaly{named, named.Base() + "-session", named.Base() + "-realtime"} {
		if (kind == named || l.Forbids(kind)) && x.bearsOut(a, kind, l, o) {
			shows = kind
			break
		}
	}
	if shows == a.Kind {
		return nil
	}
	for _, weaker := range l.Relaxed() {
		if a.Named(x.h, weaker, o.ClockSkew) == a.Kind && x.checkAnomaly(a, weaker, o) == nil && x.bearsOut(a, a.Kind, weaker, o) {
			return nil
		}
	}
	return &NameError{a, shows}
}

// bearsOut reports whether a proof at level l holds at each of the weakest levels that forbid a kind too, so that whatever forbids the kind
// is violated. Where such a level has no rules for the proof, those above it are asked that have.
func (x *index) bearsOut(a *evidence.Anomaly, kind level.Anomaly, l level.Level, o Options) bool {
	of := *a
	of.Kind = kind
	for _, weakest := range kind.Weakest() {
		holds, ruled := x.holdsAt(&of, weakest, l, o)
		for _, m := range level.All() {
			if !ruled && m != weakest && m.Implies(weakest) && m.Forbids(kind) {
				above, _ := x.holdsAt(&of, m, l, o)
				holds = holds && above
			}
		}
		if !holds {
			return false
		}
	}
	return true
}

// holdsAt reports whether a proof at level l holds at m, and whether m has rules for it; without, it is taken to hold. So it is where m is
// violated with l. Linearizability says of transactions on one key each what the serializable levels do.
func (x *index) holdsAt(a *evidence.Anomaly, m, l level.Level, o Options) (holds, ruled bool) {
	if m == level.Linearizable || m.Implies(l) || m == level.RepeatableRead && l == level.Serializable {
		return true, true
	}
	if m.Forbids(level.NonRepeatableRead) != l.Forbids(level.NonRepeatableRead) {
		dead := x.dead
		defer func() { x.dead = dead }()
		newProof(x, m, o.ClockSkew).bury()
	}
	var cannot *Unsupported
	err := x.checkAnomaly(a, m, o)
	ruled = !errors.As(err, &cannot)
	return err == nil || !ruled || errors.Is(err, ErrGaveUp) || errors.Is(err, ErrStopped), ruled
}

// plain is the name that says least of a violation of a level by cycles: no level forbids it that the level does not imply, or that does not
// imply the level.
func plain(h *history.History, l level.Level) level.Anomaly {
	kind := level.G2Item
	switch {
	case l == level.Linearizable:
		return level.StaleRead
	case l == level.ReadCommitted:
		kind = level.NonMonotonicRead
	case l == level.ReadAtomic:
		kind = level.FracturedRead
	case l == level.Causal:
		kind = level.CausalityViolation
	case l.Snapshot():
		kind = level.NoOrder
	case l.Serial() && h.HasPredicates():
		kind = level.G2
	}
	switch {
	case l.RealTime():
		kind += "-realtime"
	case l.Sessions():
		kind += "-session"
	}
	return kind
}

// NameError says that a proof by cycles is right, but has another name than that of what it shows.
type NameError struct {
	Of    *evidence.Anomaly
	Shows level.Anomaly
}

func (e *NameError) Error() string { return fmt.Sprintf("what its cycles show is %s", e.Shows) }

// checkTxns demands that Txns has each transaction of the proof once, and no other.
func (x *index) checkTxns(a *evidence.Anomaly) error {
	n := uint32(x.h.NumTxns())
	listed := make(map[uint32]bool, len(a.Txns))
	for _, t := range a.Txns {
		if t >= n {
			return fmt.Errorf("transaction index %d of %d", t, n)
		}
		if listed[t] {
			return fmt.Errorf("%s is listed twice", name(x.h, t))
		}
		listed[t] = true
	}
	named := make(map[uint32]bool)
	var missing error
	in := func(t uint32) {
		named[t] = true
		if t >= n {
			missing = fmt.Errorf("transaction index %d of %d", t, n)
		} else if !listed[t] && missing == nil {
			missing = fmt.Errorf("%s takes part and is not listed", name(x.h, t))
		}
	}
	for _, op := range a.Ops {
		if int(op) < x.h.NumOps() {
			in(evidence.TxnOf(x.h, op))
		}
	}
	for _, ops := range a.Dead {
		for _, op := range ops {
			if int(op) < x.h.NumOps() {
				in(evidence.TxnOf(x.h, op))
			}
		}
	}
	cycle := func(c []evidence.Edge) {
		for _, e := range c {
			in(e.From)
			in(e.To)
			if (e.Dep == evidence.RW || e.Dep == evidence.PRW) && e.Writer != history.None && e.Writer != x.h.Init {
				in(e.Writer)
			}
		}
	}
	cycle(a.Cycle)
	for _, c := range a.Cycles {
		cycle(c)
	}
	if missing != nil {
		return missing
	}
	for _, t := range a.Txns {
		if !named[t] {
			return fmt.Errorf("%s is listed and takes no part", name(x.h, t))
		}
	}
	return nil
}

// proof turns the cycles of one anomaly into clauses.
type proof struct {
	x       *index
	h       *history.History
	level   level.Level
	skew    int64
	clauses [][]Lit
	vars    Lit
	pairs   map[[2]uint32]Lit // two writers of a common key, lower index first → "the first is before the second"
	ordered [][2]uint32       // the keys of pairs, in the order in which they came up
	sources map[source]Lit    // for ambiguous reads
	closed  map[[2]uint32]bool
	bases   map[base]Lit       // for what predicate operations missed
	open    map[[2]uint32]bool // predicate operation and key: the clauses are made
	count   map[uint32]Lit     // transactions of unknown outcome → "it counts"
	lists   map[uint32]*doubledProof
	queue   []uint32 // those whose readers are yet to be looked at
}

// source says that reader saw the version ver as writer installed it.
type source struct{ reader, ver, writer uint32 }

func newProof(x *index, l level.Level, skew int64) *proof {
	return &proof{x: x, h: x.h, level: l, skew: skew, pairs: make(map[[2]uint32]Lit), sources: make(map[source]Lit),
		closed: make(map[[2]uint32]bool), count: make(map[uint32]Lit), bases: make(map[base]Lit), open: make(map[[2]uint32]bool), lists: make(map[uint32]*doubledProof)}
}

func (p *proof) newVar() Lit {
	p.vars++
	return (p.vars - 1) << 1
}

func (p *proof) clause(ls []Lit) { p.clauses = append(p.clauses, ls) }

// not returns the clause "not all of ls".
func (p *proof) not(ls []Lit) []Lit {
	out := make([]Lit, len(ls))
	for i, l := range ls {
		out[i] = l.Not()
	}
	return out
}

// counts adds to ls what t needs to count as committed: nothing if it committed.
func (p *proof) counts(ls []Lit, t uint32) []Lit {
	if p.h.Txns.Status[t] != history.Unknown {
		return ls
	}
	l, ok := p.count[t]
	if !ok {
		l = p.newVar()
		p.count[t] = l
		p.queue = append(p.queue, t)
	}
	return append(ls, l)
}

// before adds the assumption that a's versions come before b's.
func (p *proof) before(ls []Lit, a, b uint32) []Lit {
	flip := Lit(0)
	if a > b {
		a, b, flip = b, a, 1
	}
	l, ok := p.pairs[[2]uint32{a, b}]
	if !ok {
		l = p.newVar()
		p.pairs[[2]uint32{a, b}] = l
		p.ordered = append(p.ordered, [2]uint32{a, b})
	}
	return append(ls, l^flip)
}

// from adds the assumption that reader saw version v as writer installed it: none where nobody else can have.
func (p *proof) from(ls []Lit, reader, v, writer uint32) ([]Lit, error) {
	if writer == p.h.Init {
		writer = initial
	}
	c := p.candidates(reader, v)
	found := false
	for _, w := range c {
		found = found || w == writer
	}
	if !found {
		if writer == initial {
			return nil, fmt.Errorf("%s is not the initial value of %s", p.h.ValueString(v), p.h.KeyString(p.h.VerKey[v]))
		}
		return nil, fmt.Errorf("%s did not install %s = %s", name(p.h, writer), p.h.KeyString(p.h.VerKey[v]), p.h.ValueString(v))
	}
	p.read(reader, v, c)
	if len(c) == 1 {
		return ls, nil
	}
	if p.level == level.ReadCommitted && readings(p.h, reader, v) > 1 {
		return nil, &Unsupported{fmt.Sprintf("what %s saw at read-committed, which reads %s twice: of two reads, each may be from another writer", name(p.h, reader), p.h.ValueString(v))}
	}
	return append(ls, p.sources[source{reader, v, writer}]), nil
}

// read adds the clauses of a read of v by reader, once: some candidate is its source, and that counts if the reader does.
func (p *proof) read(reader, v uint32, candidates []uint32) {
	if p.closed[[2]uint32{reader, v}] {
		return
	}
	p.closed[[2]uint32{reader, v}] = true
	some := p.not(p.counts(nil, reader))
	for _, w := range candidates {
		var is []Lit
		if len(candidates) > 1 {
			l := p.newVar()
			p.sources[source{reader, v, w}] = l
			some = append(some, l)
			is = append(is, l)
		}
		if w != initial {
			for _, c := range p.counts(nil, w) {
				p.clause(append(p.not(p.counts(is, reader)), c))
			}
		}
	}
	if len(candidates) != 1 {
		p.clause(some) // without candidates: the reader does not count
	}
}

// cycle checks a cycle and adds its clause.
func (p *proof) cycle(c []evidence.Edge) error {
	if len(c) < 2 {
		return fmt.Errorf("%d edges; expected two at least", len(c))
	}
	var needs []Lit
	for i, e := range c {
		next := c[(i+1)%len(c)]
		if e.To != next.From {
			return fmt.Errorf("edge %d ends at transaction index %d, the next begins at %d", i+1, e.To, next.From)
		}
		if p.level.Snapshot() && p.overlaps(e) && p.overlaps(next) {
			return fmt.Errorf("anti-dependencies %d and %d are adjacent, which %s allows", i+1, (i+1)%len(c)+1, p.level)
		}
		var err error
		if needs, err = p.edge(needs, e); err != nil {
			if _, ok := err.(*Unsupported); ok {
				return err
			}
			return fmt.Errorf("edge %d (%s): %w", i+1, e.Dep, err)
		}
	}
	if weak(p.level) {
		if err := p.weakCycle(c); err != nil {
			return err
		}
	}
	p.clause(p.not(needs))
	return nil
}

// overlaps reports whether an edge says under snapshot isolation no more than that From began before To committed, as an anti-dependency
// does. Of one between two that write its key it follows that From committed before To began: the two do not overlap, and To did not
// commit before From began.
func (p *proof) overlaps(e evidence.Edge) bool {
	if !anti(e.Dep) || int(e.From) >= p.h.NumTxns() {
		return anti(e.Dep)
	}
	w, _ := finalWrite(p.h, e.From, e.Key)
	return w == history.None
}

// edge checks an edge against the history and adds what it assumes.
func (p *proof) edge(needs []Lit, e evidence.Edge) ([]Lit, error) {
	h := p.h
	n := uint32(h.NumTxns())
	if e.From >= n || e.To >= n || e.From == e.To {
		return nil, fmt.Errorf("from transaction index %d to %d of %d", e.From, e.To, n)
	}
	for _, t := range [...]uint32{e.From, e.To} {
		if h.Txns.Status[t] == history.Aborted {
			return nil, fmt.Errorf("%s aborted", name(h, t))
		}
		needs = p.counts(needs, t)
	}
	if e.To == h.Init {
		return nil, fmt.Errorf("%s, the initial one, precedes all others", name(h, e.To))
	}
	switch e.Dep {
	case evidence.SO:
		if !p.level.Sessions() {
			return nil, fmt.Errorf("%s does not ask for session order", p.level)
		}
		if !p.x.sessionBefore(e.From, e.To) {
			return nil, fmt.Errorf("%s is not a committed transaction earlier in the session of %s", name(h, e.From), name(h, e.To))
		}
		return needs, nil
	case evidence.RT:
		if !p.level.RealTime() {
			return nil, fmt.Errorf("%s does not ask for real-time order", p.level)
		}
		if !p.timeBefore(e.From, e.To) {
			return nil, fmt.Errorf("%s did not end before %s began", name(h, e.From), name(h, e.To))
		}
		return needs, nil
	case evidence.WR:
		if p.level.Serial() || p.level.Snapshot() || p.level.Sessions() || p.level == level.RepeatableRead || p.level == level.Linearizable {
			return p.wr(needs, e)
		}
	case evidence.WW, evidence.RW:
		if p.level.Serial() || p.level.Snapshot() || p.level == level.RepeatableRead || p.level == level.Linearizable || weak(p.level) {
			if e.Dep == evidence.WW {
				return p.ww(needs, e)
			}
			return p.rw(needs, e)
		}
	case evidence.PWR, evidence.PRW:
		if p.level.Serial() || p.level.Snapshot() {
			return p.predicate(needs, e)
		}
	}
	return nil, &Unsupported{fmt.Sprintf("edges of kind %s at level %s", e.Dep, p.level)}
}

func (p *proof) timeBefore(a, b uint32) bool {
	return a != p.h.Init && b != p.h.Init && inTime(endOf(p.h, a), p.h.Start(b), p.skew)
}

// version demands that Ver is a version of Key.
func (p *proof) version(e evidence.Edge) error {
	if int(e.Ver) >= p.h.NumVersions() || p.h.VerKey[e.Ver] != e.Key {
		return fmt.Errorf("version %d is not one of key %d", e.Ver, e.Key)
	}
	return nil
}

func (p *proof) wr(needs []Lit, e evidence.Edge) ([]Lit, error) {
	if err := p.version(e); err != nil {
		return nil, err
	}
	if ops := listReads(p.h, e.To, e.Key); len(ops) > 0 {
		if !weak(p.level) {
			if d, err := p.doubled(e.Key); err != nil || d != nil {
				if err != nil {
					return nil, err
				}
				return p.doubledWR(d, needs, e)
			}
		}
		lo, _ := p.h.TxnOps(e.To)
		if !slices.ContainsFunc(ops, func(op uint32) bool {
			seen, _ := others(p.h, op, lo)
			return contains(seen, e.Ver)
		}) {
			return nil, fmt.Errorf("%s did not read it in its list", name(p.h, e.To))
		}
	} else if !reads(p.h, e.To, e.Ver) {
		return nil, fmt.Errorf("%s did not read %s = %s, or only after an own write", name(p.h, e.To), p.h.KeyString(e.Key), p.h.ValueString(e.Ver))
	}
	return p.from(needs, e.To, e.Ver, e.From)
}

func (p *proof) ww(needs []Lit, e evidence.Edge) ([]Lit, error) {
	h := p.h
	if err := p.version(e); err != nil {
		return nil, err
	}
	a, from := finalWrite(h, e.From, e.Key)
	b, to := finalWrite(h, e.To, e.Key)
	if a == history.None || b == history.None {
		return nil, fmt.Errorf("they do not both write %s", h.KeyString(e.Key))
	}
	if to != e.Ver {
		return nil, fmt.Errorf("%s does not install %s = %s", name(h, e.To), h.KeyString(e.Key), h.ValueString(e.Ver))
	}
	if e.From == h.Init {
		return needs, nil
	}
	if h.Ops.Kind[a] == history.Append {
		if !weak(p.level) {
			if d, err := p.doubled(e.Key); err != nil {
				return nil, err
			} else if d != nil {
				p.link(d, e.From, e.To)
				return p.before(needs, e.From, e.To), nil
			}
		}
		by := p.shown(from, to, e)
		if len(by) > 0 && h.Txns.Status[by[0]] == history.Committed {
			return needs, nil
		}
		before := p.before(nil, e.From, e.To)[0]
		for _, t := range by {
			p.clause(append(p.not(p.counts(nil, t)), before))
		}
	}
	return p.before(needs, e.From, e.To), nil
}

// shown returns a committed transaction whose list shows From's element and, after it or not at all, To's; if there is none, all
// of unknown outcome that show it. Lists only grow, so From appended first if one of them counts.
func (p *proof) shown(from, to uint32, e evidence.Edge) (by []uint32) {
	if c := p.candidates(history.None, from); len(c) != 1 || c[0] != e.From {
		return nil
	}
	for _, op := range p.x.lists[e.Key] {
		t := evidence.TxnOf(p.h, op)
		lo, _ := p.h.TxnOps(t)
		list, ok := others(p.h, op, lo)
		if !ok {
			continue
		}
		if !weak(p.level) { // there, what a transaction appends itself it may append without having seen what came before
			list = elems(p.h, p.h.Ops.Ver[op])
		}
		i := slices.Index(list, from)
		if i < 0 {
			continue
		}
		if j := slices.Index(list, to); j >= 0 {
			if c := p.candidates(history.None, to); j < i || len(c) != 1 || c[0] != e.To {
				continue
			}
		}
		if p.h.Txns.Status[t] == history.Committed {
			return []uint32{t}
		}
		by = append(by, t)
	}
	return by
}

func contains(list []uint32, v uint32) bool { return slices.Contains(list, v) }

func anti(d evidence.Dep) bool { return d == evidence.RW || d == evidence.PRW }

func (p *proof) rw(needs []Lit, e evidence.Edge) ([]Lit, error) {
	h := p.h
	if int(e.Key) >= h.NumKeys() {
		return nil, fmt.Errorf("key %d of %d", e.Key, h.NumKeys())
	}
	w, _ := finalWrite(h, e.To, e.Key)
	if w == history.None {
		return nil, fmt.Errorf("%s does not write %s", name(h, e.To), h.KeyString(e.Key))
	}
	if e.Writer == e.To || e.Writer == e.From {
		return nil, fmt.Errorf("%s wrote the version read", name(h, e.Writer))
	}
	if h.Ops.Kind[w] == history.Append {
		return p.listRW(needs, e, w)
	}
	if err := p.version(e); err != nil {
		return nil, err
	}
	if !reads(h, e.From, e.Ver) {
		return nil, fmt.Errorf("%s did not read %s = %s, or only after an own write", name(h, e.From), h.KeyString(e.Key), h.ValueString(e.Ver))
	}
	if e.Writer != history.None && int(e.Writer) >= h.NumTxns() {
		return nil, fmt.Errorf("writer index %d of %d", e.Writer, h.NumTxns())
	}
	needs, err := p.from(needs, e.From, e.Ver, e.Writer)
	if err != nil {
		return nil, err
	}
	if e.Writer == history.None || e.Writer == h.Init {
		return needs, nil
	}
	return p.before(needs, e.Writer, e.To), nil
}

// listRW checks an anti-dependency of lists: a list that From read lacks what To appended. Nothing is assumed.
func (p *proof) listRW(needs []Lit, e evidence.Edge, w uint32) ([]Lit, error) {
	h := p.h
	if !weak(p.level) {
		if d, err := p.doubled(e.Key); err != nil {
			return nil, err
		} else if d != nil {
			return p.doubledRW(d, needs, e)
		}
	}
	err := fmt.Errorf("%s does not read the list %s", name(h, e.From), h.KeyString(e.Key))
	for _, op := range listReads(h, e.From, e.Key) { // they differ at read-committed only
		if err = p.lacks(op, e, w); err == nil {
			return needs, nil
		}
	}
	return nil, err
}

// lacks checks it of one list read.
func (p *proof) lacks(op uint32, e evidence.Edge, w uint32) error {
	h := p.h
	lo, _ := h.TxnOps(e.From)
	seen, ok := others(h, op, lo)
	if !ok {
		return fmt.Errorf("the list that %s read does not end with its own appends", name(h, e.From))
	}
	if contains(seen, h.Ops.Ver[w]) {
		return fmt.Errorf("%s read %s, which %s appended", name(h, e.From), h.ValueString(h.Ops.Ver[w]), name(h, e.To))
	}
	if len(seen) == 0 {
		if e.Writer != history.None && e.Writer != h.Init || e.Ver != history.None && e.Ver != h.InitVer[e.Key] {
			return fmt.Errorf("%s read an empty list", name(h, e.From))
		}
		return nil
	}
	if e.Ver != seen[len(seen)-1] {
		return fmt.Errorf("the version is not the last element that %s read", name(h, e.From))
	}
	for _, c := range p.candidates(e.From, e.Ver) {
		if c == e.Writer || c == initial && e.Writer == h.Init {
			return nil
		}
	}
	return fmt.Errorf("the writer named did not append the last element that %s read", name(h, e.From))
}

// settle gives the variables of pairs the value that session order, real time or a read of one by the other demands. Where
// there are such reasons for both orders, one that rests on nothing counts alone; if none does, all do. Against another such, a read counts before an order of
// sessions, and that before time: then a proof that needs fewer orders does at this level too. A contradiction of two of a sort is a
// cycle of its own, which the evidence must show.
func (p *proof) settle() {
	for _, pair := range p.ordered {
		l, a, b := p.pairs[pair], pair[0], pair[1]
		ab, ba := p.settles(a, b), p.settles(b, a)
		if first, then := unconditional(ab), unconditional(ba); len(ab) > 0 && len(ba) > 0 && (first || then) {
			if first && then { // a proof without time, or without sessions either, may rest on what then is left
				first, then = unconditional(p.readSettles(a, b, nil)), unconditional(p.readSettles(b, a, nil))
				if !first && !then && p.level.Sessions() {
					first, then = p.x.sessionBefore(a, b), p.x.sessionBefore(b, a)
				}
			}
			switch {
			case first && !then:
				p.clause([]Lit{l})
			case then && !first:
				p.clause([]Lit{l.Not()})
			}
			continue
		}
		for _, needs := range ab {
			p.clause(append(p.not(needs), l))
		}
		for _, needs := range ba {
			p.clause(append(p.not(needs), l.Not()))
		}
	}
}

// unconditional reports whether one of the reasons rests on nothing.
func unconditional(reasons [][]Lit) bool {
	for _, r := range reasons {
		if len(r) == 0 {
			return true
		}
	}
	return false
}

// settles returns the reasons why a is before b by the history alone, each as the assumptions that it rests on.
func (p *proof) settles(a, b uint32) (reasons [][]Lit) {
	if p.level.Sessions() && p.x.sessionBefore(a, b) || p.level.RealTime() && p.timeBefore(a, b) {
		reasons = append(reasons, p.counts(nil, b))
	}
	return p.readSettles(a, b, reasons)
}

// readSettles adds the reasons that are reads of a by b.
func (p *proof) readSettles(a, b uint32, reasons [][]Lit) [][]Lit {
	tried := make(map[uint32]bool) // doubled lists
	readsOf(p.h, b, func(v uint32) {
		c := p.candidates(b, v)
		if !contains(c, a) {
			return
		}
		if key := p.h.VerKey[v]; len(p.x.writes[v]) > 0 && p.h.Ops.Kind[p.x.writes[v][0].op] == history.Append && !weak(p.level) && p.x.isDoubled(key) {
			if d, err := p.doubled(key); err == nil && !tried[key] {
				tried[key] = true
				if n, err := p.seen(d, b, key); err == nil {
					if l, never := p.in(d, a, n); !never {
						reasons = append(reasons, append(p.counts(nil, b), l))
					}
				}
			}
			return
		}
		p.read(b, v, c)
		needs := p.counts(nil, b)
		if len(c) > 1 {
			needs = append(needs, p.sources[source{b, v, a}])
		}
		reasons = append(reasons, needs)
	})
	return reasons
}

// contradictsItself reports whether a transaction reads something else than its own last write or its own earlier read of a
// register, so that it cannot have committed at a level that forbids that.
func (p *proof) contradictsItself(t uint32) bool {
	h := p.h
	saw := make(map[uint32]uint32) // key → the version that the transaction must see from now on
	lo, hi := h.TxnOps(t)
	if p.x.truths != nil && p.level.Forbids(level.NonRepeatableRead) {
		saw = external(h, t) // what a predicate says of a key may be shown wrong by a later read
	}
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.PredRead, history.PredWrite:
			if p.x.contradicts(op, saw, p.level.Forbids(level.NonRepeatableRead)) {
				return true
			}
		case history.Read:
			if w, ok := saw[h.VerKey[v]]; ok && w != v {
				return true
			}
			if p.level.Forbids(level.NonRepeatableRead) {
				saw[h.VerKey[v]] = v
			}
		case history.Write:
			saw[h.VerKey[v]] = v
		}
	}
	return false
}

// inclusion adds, for the transactions of unknown outcome that the proof speaks of, what their readers say of them.
func (p *proof) inclusion() {
	for len(p.queue) > 0 {
		u := p.queue[0]
		p.queue = p.queue[1:]
		if p.contradictsItself(u) {
			p.clause(p.not(p.counts(nil, u)))
		}
		readsOf(p.h, u, func(v uint32) { p.read(u, v, p.candidates(u, v)) })
		lo, hi := p.h.TxnOps(u)
		for op := lo; op < hi; op++ {
			k := p.h.Ops.Kind[op]
			wrote(p.h, op, func(v uint32) {
				if k != history.Append && !isFinal(p.h, p.h.VerKey[v], op, hi) {
					return
				}
				for _, r := range p.x.readers[v] {
					if r == u || p.h.Txns.Status[r] == history.Aborted || k != history.Append && !reads(p.h, r, v) {
						continue
					}
					p.read(r, v, p.candidates(r, v))
				}
			})
		}
		if p.x.truths != nil {
			p.forced(u)
		}
	}
}
