package mechanism

// The work on keys can be divided. Each of several verifiers, the parts, knows some of the keys: their versions and
// locks, who reads what, which writer follows which. One more, the rest, knows no key: it keeps the dependencies
// acyclic, intersects what the reads of one snapshot say of its moment, and sees to it that a transaction was seen
// whole. All of them take the same transactions in the same order, so that they agree without a word on who is
// verified when, and on what is forgotten; and each counts its steps. What a part finds it tells the rest as facts,
// with the step and the place among the operations at which one verifier alone would have found them. The rest, which
// comes behind, takes the facts of all parts in that order, and does with them what one alone does. Nothing goes the
// other way: what a part knows of a key does not depend on what spans keys. So the violations are those of one, in the
// same order.
//
// Source: [Leopard] §VI-C, which scales out by a part of the data an instance, and says no more.

// part is what a verifier has that knows some of the keys.
type part struct {
	number uint32
	places *[]place // of all keys; not changed while somebody works
	facts  facts
	order  uint64 // of facts: the step at which a read began to wait that is a violation now; else 0
	at     uint32 // the place among the operations
	edges  bool   // somebody asks for dependencies
}

// place is which part knows a key, and as which of its own.
type place struct{ part, slot uint32 }

// facts are what a part tells, in the order in which it comes to know them.
type facts struct {
	all        []fact
	violations []Violation
	unjudged   []Unjudged
	edges      []edgeFact
	before     []predecessor
	reads      []readFact
	next       []uint64
}

// fact is one of them. Facts of a step are in the order of order and at.
type fact struct {
	stage, order uint64
	at           uint32
	n            uint32 // which of its kind; of an unseen read: its operation
	kind         factKind
}

type factKind uint8

const (
	factViolation factKind = iota
	factUnjudged
	factEdge
	factBefore
	factRead
	factUnseen
)

// edgeFact is a dependency between transactions, by their serials.
type edgeFact struct {
	from, to uint64
	key      uint32
	kind     uint8
	why      Reason
}

// readFact is a read and the version that it saw.
type readFact struct {
	read     Trace
	txn, id  uint64 // its writer
	c, d     int64  // its commit
	until    int64  // the end of the commit after it that is surely later
	next, by uint64 // whose
	from, to int    // of facts.next: writers that come after it, as far as they may have committed before the snapshot
}

func (p *part) add(stage uint64, kind factKind, n int) {
	p.facts.all = append(p.facts.all, fact{stage: stage, order: p.order, at: p.at, n: uint32(n), kind: kind})
}

func (p *part) violation(stage uint64, x Violation) {
	p.add(stage, factViolation, len(p.facts.violations))
	p.facts.violations = append(p.facts.violations, x)
}

func (p *part) unjudge(stage uint64, u Unjudged) {
	p.add(stage, factUnjudged, len(p.facts.unjudged))
	p.facts.unjudged = append(p.facts.unjudged, u)
}

func (p *part) edge(stage uint64, e edgeFact) {
	if p.edges {
		p.add(stage, factEdge, len(p.facts.edges))
		p.facts.edges = append(p.facts.edges, e)
	}
}

func (p *part) unseen(stage uint64, r *Trace) { p.add(stage, factUnseen, int(r.Op)) }

func (p *part) read(stage uint64, r *Trace, k *keyState, at int, until int64, next int) {
	w := &k.vers[at]
	x := readFact{read: *r, txn: w.txn, id: w.id, c: w.c, d: w.d, until: until}
	if next >= 0 {
		x.next, x.by = k.vers[next].txn, k.vers[next].id
	}
	p.add(stage, factRead, len(p.facts.reads))
	p.facts.reads = append(p.facts.reads, x)
}

// clear makes room for what comes next.
func (f *facts) clear() {
	clear(f.violations) // they have lists
	*f = facts{f.all[:0], f.violations[:0], f.unjudged[:0], f.edges[:0], f.before[:0], f.reads[:0], f.next[:0]}
}

// has reports whether operation i, on a key, is the verifier's to look at.
func (v *Verifier) has(key uint32, i int) bool {
	if v.part == nil {
		return v.rest == nil
	}
	v.part.at = uint32(i)
	return (*v.part.places)[key].part == v.part.number
}

// slot is where a key's state is.
func (v *Verifier) slot(key uint32) uint32 {
	if v.part != nil {
		return (*v.part.places)[key].slot
	}
	return key
}

// precedes notes that first updater wins has one writer commit before the other's snapshot.
func (v *Verifier) precedes(p predecessor) {
	if v.part == nil {
		v.before = append(v.before, p)
		return
	}
	v.part.add(v.stage, factBefore, len(v.part.facts.before))
	v.part.facts.before = append(v.part.facts.before, p)
}

// tellNext adds to what has been told of a transaction's reads which writers came after the versions seen: those that
// whole compares. Only those can be among the transactions that it looks for which may have committed before the
// snapshot's end.
func (v *Verifier) tellNext(p *pending, reads []Trace) {
	f := &v.part.facts
	n := len(f.reads)
	for _, at := range v.places {
		if at >= 0 {
			n--
		}
	}
	for i, at := range v.places {
		if at < 0 {
			continue
		}
		b := p.b
		if v.p.Reads != TransactionReads {
			b = reads[i].Aft
		}
		k := v.key(reads[i].Key)
		seen := &k.vers[at]
		x := &f.reads[n]
		n++
		x.from = len(f.next)
		next := seen.succ
		for j := int(at) + 1; j < len(k.vers); j++ {
			w := &k.vers[j]
			follows := w.c > seen.d
			if w.txn != none && w.txn == next {
				follows, next = true, w.succ
			}
			if follows && !w.open && w.txn != p.serial && w.txn != none && w.c <= b {
				f.next = append(f.next, w.txn)
			}
		}
		x.to = len(f.next)
	}
}

// step begins a step: a pass over a transaction's operations, or the end of some waiting.
func (v *Verifier) step() {
	v.stage++
	if v.rest != nil {
		v.hearStep()
	}
}

func (v *Verifier) hearStep() {
	for x := v.rest.hear(v.stage); x != nil; x = v.rest.hear(v.stage) {
		v.take(x)
	}
}

// rest is what the verifier has that hears the parts.
type rest struct {
	parts []hearing
	from  *facts // of the fact that was heard last
	part  int    // whose that is
	reads []heardRead
}

// hearing is what a part has told, and how much of it has been heard.
type hearing struct {
	facts facts
	at    int
}

type heardRead struct {
	*readFact
	next []uint64
}

// hear returns the next fact of a step; nil: there is none.
func (r *rest) hear(stage uint64) *fact {
	var first *fact
	from := -1
	for i := range r.parts {
		h := &r.parts[i]
		if h.at >= len(h.facts.all) {
			continue
		}
		x := &h.facts.all[h.at]
		if x.stage == stage && (first == nil || x.order < first.order || x.order == first.order && x.at < first.at) {
			first, from = x, i
		}
	}
	if first != nil {
		h := &r.parts[from]
		h.at++
		r.from, r.part = &h.facts, from
	}
	return first
}

// take does with a fact what a verifier alone does when it finds it.
func (v *Verifier) take(x *fact) {
	f := v.rest.from
	switch x.kind {
	case factViolation:
		v.violation(f.violations[x.n])
	case factUnjudged:
		v.unjudge(f.unjudged[x.n])
	case factEdge:
		e := &f.edges[x.n]
		v.depend(e.from, e.to, e.key, none, none, int(e.kind), e.why, false)
	case factBefore:
		v.precedes(f.before[x.n])
	}
}

// consistentHeard is consistent, of what the parts say of the reads.
func (v *Verifier) consistentHeard(p *pending, before []predecessor) {
	whole := v.p.Reads == TransactionReads
	joint := v.moment(p.a, p.b)
	op, begun := uint32(0), false
	reads := v.rest.reads[:0]
	for x := v.rest.hear(v.stage); x != nil; x = v.rest.hear(v.stage) {
		switch x.kind {
		case factUnseen:
			if !whole && (!begun || x.n != op) {
				joint, op, begun = moment{}, x.n, true
			}
			joint.broken = true
		case factRead:
			f := &v.rest.from.reads[x.n]
			r := &f.read
			if !whole && (!begun || r.Op != op) {
				joint, op, begun = v.moment(r.Bef, r.Aft), r.Op, true
			}
			reads = append(reads, heardRead{f, v.rest.from.next[f.from:f.to]})
			if f.c > joint.lo {
				joint.lo, joint.low = f.c, narrowing{r, f.id}
			}
			if f.until < joint.hi {
				joint.hi, joint.high = f.until, narrowing{r, f.by}
			}
			if joint.lo > joint.hi && !joint.broken {
				joint.broken = true
				v.noSnapshot(p, &joint)
			}
		default:
			v.take(x)
		}
	}
	v.rest.reads = reads
	if whole {
		v.wholeHeard(p, reads, before, p.a)
		return
	}
	for i := 0; i < len(reads); {
		j := i + 1
		for j < len(reads) && reads[j].read.Op == reads[i].read.Op {
			j++
		}
		if j > i+1 {
			v.wholeHeard(p, reads[i:j], nil, reads[i].read.Bef)
		}
		i = j
	}
}

// wholeHeard is whole, of what the parts say of the reads.
func (v *Verifier) wholeHeard(p *pending, reads []heardRead, before []predecessor, a int64) {
	if v.p.StaleReads {
		a = -Forever
	}
	v.together = v.together[:0]
	for _, u := range before {
		v.together = append(v.together, together{txn: u.txn, id: u.id, read: -1, by: u})
	}
	for i := range reads {
		if r := &reads[i]; r.txn != none && r.d >= a &&
			(len(v.together) == 0 || v.together[len(v.together)-1].txn != r.txn) {
			v.together = append(v.together, together{txn: r.txn, id: r.id, read: i})
		}
	}
	if len(v.together) == 0 {
		return
	}
	for i := range reads {
		r := &reads[i].read
		for _, next := range reads[i].next {
			for _, t := range v.together {
				if t.txn == next {
					seen := r
					if t.read >= 0 {
						seen = &reads[t.read].read
					}
					v.torn(p, &t, seen, r)
					return
				}
			}
		}
	}
}

// torn reports a transaction that was not seen whole: read saw nothing of it, though seen did, or its place before a
// later writer says that it was there.
func (v *Verifier) torn(p *pending, t *together, seen, read *Trace) {
	if t.read < 0 {
		v.violation(Violation{Mechanism: FirstUpdaterWins, Kind: LostUpdate, Txns: []uint64{t.id, p.id},
			Ops: []uint32{t.by.op, t.by.mine, read.Op}, Key: t.by.key})
		return
	}
	v.violation(Violation{Mechanism: ConsistentRead, Kind: Fractured, Txns: []uint64{p.id, t.id},
		Ops: []uint32{seen.Op, read.Op}, Key: read.Key, Val: read.Val})
}
