package mechanism

import (
	"errors"
	"fmt"
	"slices"
)

// Joint is the rest of parts that are alone: it keeps the dependencies acyclic, intersects what reads of one snapshot
// say of its moment, and sees to it that transactions are seen whole.
//
// Parts that take the same transactions in the same order have the same steps, and what the Joint finds then is what
// one verifier finds, in the same order. Where they do not, for each has a clock of its own or reads several streams at
// once, what all have taken is put together by the names of transactions: the next one that ends is the one that ended
// first, for those parts that have it. One is verified by what all parts say of it that have it, once the others have
// come to transactions that ended later; of one that is late in some parts less is known, and nothing is concluded but
// what those say that have it (Partial).
//
// Its state is written and read back by internal/freeze; then each part goes on behind the steps that were Taken.
//
// Memory: the transactions that a cycle can still enter, and those that not all parts have come to.
type Joint struct {
	v       *Verifier
	keys    *Stream `freeze:"-"`
	parts   []jointPart
	wait    []jointTxn // from head on, by their serials, one after the other
	head    int
	apart   bool // serials and lines are not the same in all parts
	partial int64
	first   uint64
	chosen  []int `freeze:"-"` // scratch
	live    int   // keys, when they were last counted
}

// jointPart is what is known of a part.
type jointPart struct {
	taken uint64     // steps
	own   uint64     // its own serial of the first of known
	known []knownTxn // that have ended in it
	told  uint64     // its own serial of the next that it verifies
	floor int64
	// the latest that has ended in it: its commit, its serial here, its id there
	last int64
	now  uint64
	id   uint64
}

// knownTxn is a transaction as all parts together have it.
type knownTxn struct {
	serial, id uint64
	d          int64
}

// jointTxn is one that is not verified.
type jointTxn struct {
	pending
	name          uint64
	c, d          int64
	holders, told int // parts in which it has ended, and which have verified it
	before        []predecessor
	heard         []hearing
	done          bool
}

// NewJoint begins the rest of so many parts, at most 256, whose options these are. keys numbers keys.
func NewJoint(parts int, o Options, keys *Stream) *Joint {
	o.Late, o.Duplicates = true, true
	if o.MaxViolations == 0 {
		o.MaxViolations = 1 << 40
	}
	j := &Joint{v: NewVerifier(0, o), keys: keys, parts: make([]jointPart, parts)}
	for i := range j.parts {
		j.parts[i].last, j.parts[i].floor = -Forever, -Forever
	}
	j.v.rest = &rest{parts: make([]hearing, parts)}
	return j
}

// partOfID is where the number of the part begins in the id of a transaction.
const partOfID = 56

// JointID says which part calls a transaction of a Joint's violations so, from 0, and how.
func JointID(id uint64) (part int, own uint64) { return int(id >> partOfID), id & (1<<partOfID - 1) }

func idIn(part int, own uint64) uint64 {
	if own == none {
		return none
	}
	return uint64(part)<<partOfID | own
}

// ErrFacts says that a piece of facts is damaged.
var ErrFacts = errors.New("facts are damaged")

// GapError says that facts of a part are missing.
type GapError struct {
	Part     int
	Has, Got uint64 // the step that should come next, and the one that does
}

func (e *GapError) Error() string {
	return fmt.Sprintf("part %d: facts from step %d on; expected them from step %d on", e.Part+1, e.Got, e.Has)
}

// StrangerError says that parts are not of one stream.
type StrangerError struct {
	Parts [2]int
	Txns  [2]uint64 // what they call a transaction that is another one in each
}

func (e *StrangerError) Error() string {
	return fmt.Sprintf("parts %d and %d have different transactions of one name, %d and %d", e.Parts[0]+1,
		e.Parts[1]+1, e.Txns[0], e.Txns[1])
}

// Run takes the facts of all parts: next returns the next piece of one, none: that is all. It returns when a part has
// no more; what others have beyond that they have to give again, behind Taken, after the state was written and read
// back. Errors: ErrFacts, *GapError, *StrangerError, those of next.
func (j *Joint) Run(next func(part int) ([]byte, error)) error {
	hs := j.v.rest.parts
	for {
		all := true
		for i := range hs {
			there, err := j.fetch(i, next)
			if err != nil {
				return err
			}
			if all = all && there; !all && !j.apart {
				return nil
			}
		}
		if did, err := j.step(); err != nil || !did {
			return err
		}
	}
}

// fetch gets a piece of a part's facts, if there is nothing of the one before; false: there is none.
func (j *Joint) fetch(part int, next func(part int) ([]byte, error)) (bool, error) {
	for h := &j.v.rest.parts[part]; h.at >= len(h.facts.all); {
		piece, err := next(part)
		if err != nil || len(piece) == 0 {
			return false, err
		}
		h.facts.clear()
		h.at = 0
		if err := j.decode(part, piece); err != nil {
			return false, err
		}
	}
	return true, nil
}

// Taken is up to which step the facts of a part have been taken; Forgotten, which of its serials are below those of
// which something may still follow.
func (j *Joint) Taken(part int) uint64     { return j.parts[part].taken }
func (j *Joint) Forgotten(part int) uint64 { return j.parts[part].own }

// Partial is how many transactions were verified by some parts alone, for they were late, or never came, in the others,
// and the id of the first of them.
func (j *Joint) Partial() (n int64, first uint64) { return j.partial, j.first }

// Take hands over the violations that have been found since it was last called.
func (j *Joint) Take() []Violation {
	vs, _ := j.v.Take()
	return vs
}

// choose says which parts are next; none: those that are not at an end have no more.
func (j *Joint) choose() (kind factKind, err error) {
	hs := j.v.rest.parts
	next := func(i int) *fact { return &hs[i].facts.all[hs[i].at] }
	end := func(i int) *endedFact { return &hs[i].facts.ended[next(i).n] }
	j.chosen = j.chosen[:0]
	same, other, first := true, -1, -1
	for i := range hs {
		if hs[i].at >= len(hs[i].facts.all) {
			same = false
			continue
		}
		x := next(i)
		if first < 0 {
			first, kind = i, x.kind
		}
		same = same && x.kind == kind && (kind != factEnded || end(i).name == end(first).name)
		if x.kind != factEnded && other < 0 {
			other = i
		}
	}
	switch {
	case same:
		for i := range hs {
			j.chosen = append(j.chosen, i)
		}
	case other >= 0: // what comes before the next end
		j.chosen = append(j.chosen, other)
		return next(other).kind, nil
	case slices.ContainsFunc(hs, func(h hearing) bool { return h.at >= len(h.facts.all) }):
	default:
		least := end(0)
		for i := range hs {
			if e := end(i); e.c < least.c || e.c == least.c && e.name < least.name {
				least = e
			}
		}
		for i := range hs {
			if end(i).name == least.name {
				j.chosen = append(j.chosen, i)
			}
		}
	}
	for k := 1; k < len(j.chosen) && kind == factEnded; k++ {
		a, b := *end(j.chosen[0]), *end(j.chosen[k])
		if a.a != b.a || a.b != b.b || a.c != b.c || a.d != b.d {
			return kind, &StrangerError{[2]int{j.chosen[0], j.chosen[k]}, [2]uint64{a.id, b.id}}
		}
	}
	return kind, nil
}

// step does the next step, of those parts that have it; false: there is none yet.
func (j *Joint) step() (did bool, err error) {
	v := j.v
	kind, err := j.choose()
	if err != nil || len(j.chosen) == 0 {
		return false, err
	}
	if kind == factEnded {
		j.ended()
	}
	v.stage++
	for _, i := range j.chosen {
		p, h := &j.parts[i], &v.rest.parts[i]
		m := &h.facts.all[h.at]
		h.at++
		p.taken++
		if kind == factFloor {
			p.floor = h.facts.floors[m.n]
		}
		if kind != factVerified {
			j.own(i, v.stage)
		}
	}
	switch kind {
	case factVerified:
		return true, j.verified()
	case factFloor:
		was, floor := v.floor, j.parts[0].floor
		for i := range j.parts {
			floor = min(floor, j.parts[i].floor)
		}
		v.floor = floor
		v.g.prune(was)
		j.trim()
	}
	for x := v.rest.hear(v.stage); x != nil; x = v.rest.hear(v.stage) {
		if x.kind != factBefore {
			v.take(x)
		} else if w := j.waiting(j.parts[v.rest.part].now); w != nil {
			w.before = append(w.before, v.rest.from.before[x.n])
		}
	}
	return true, nil
}

// waiting is a transaction that is not verified; nil: it is.
func (j *Joint) waiting(serial uint64) *jointTxn {
	if j.head == len(j.wait) || serial < j.wait[j.head].serial {
		return nil
	}
	return &j.wait[j.head+int(serial-j.wait[j.head].serial)]
}

// ended takes an end that the parts have which are chosen.
func (j *Joint) ended() {
	v := j.v
	hs := v.rest.parts
	end := func(i int) *endedFact { return &hs[i].facts.ended[hs[i].facts.all[hs[i].at].n] }
	e := end(j.chosen[0])
	var w *jointTxn
	if j.apart { // a part may have had it before others that ended at the same moment
		for k := len(j.wait) - 1; k >= j.head && w == nil && j.wait[k].c >= e.c; k-- {
			if j.wait[k].c == e.c && j.wait[k].name == e.name {
				w = &j.wait[k]
			}
		}
	}
	j.apart = j.apart || len(j.chosen) < len(hs)
	if w == nil {
		id := idIn(j.chosen[0], e.id)
		v.number++
		v.g.add(v.serial, id, e.a, e.b, e.c, e.d)
		j.wait = append(j.wait, jointTxn{pending: pending{serial: v.serial, id: id, a: e.a, b: e.b}, name: e.name,
			c: e.c, d: e.d})
		w = &j.wait[len(j.wait)-1]
		v.serial++
	}
	for _, i := range j.chosen {
		x := end(i)
		j.apart = j.apart || x.id != e.id
		w.holders++
		p := &j.parts[i]
		p.known = append(p.known, knownTxn{w.serial, w.id, w.d})
		p.last, p.now, p.id = x.c, w.serial, x.id
	}
}

// own has the facts of a part's step be those of a step here, by the serials and ids that transactions have here.
func (j *Joint) own(part int, stage uint64) {
	h := &j.v.rest.parts[part]
	f := &h.facts
	for k := h.at; k < len(f.all) && f.all[k].kind < factStep; k++ {
		x := &f.all[k]
		if x.stage = stage; !j.apart {
			continue
		}
		switch x.kind {
		case factEdge:
			e := &f.edges[x.n]
			e.from, _ = j.known(part, e.from, none)
			e.to, _ = j.known(part, e.to, none)
		case factBefore:
			p := &f.before[x.n]
			p.txn, p.id = j.known(part, p.txn, p.id)
		case factRead:
			r := &f.reads[x.n]
			r.txn, r.id = j.known(part, r.txn, r.id)
			_, r.by = j.known(part, r.next, r.by)
			for n := r.from; n < r.to; n++ {
				f.next[n], _ = j.known(part, f.next[n], none)
			}
		}
	}
}

// known is what a transaction of a part is called here; that of one that is forgotten is no serial.
func (j *Joint) known(part int, serial, id uint64) (uint64, uint64) {
	p := &j.parts[part]
	if serial == none || serial < p.own || serial-p.own >= uint64(len(p.known)) {
		return none, idIn(part, id)
	}
	k := &p.known[serial-p.own]
	return k.serial, k.id
}

// verified takes what the chosen parts say of the reads of the next transaction that each of them verifies, and
// verifies those of which all is there.
func (j *Joint) verified() error {
	v := j.v
	direct := len(j.chosen) == len(j.parts) && j.head < len(j.wait)
	for _, i := range j.chosen {
		p := &j.parts[i]
		if p.told < p.own || p.told-p.own >= uint64(len(p.known)) {
			return ErrFacts
		}
		direct = direct && p.known[p.told-p.own].serial == j.wait[j.head].serial
	}
	direct = direct && len(j.wait[j.head].heard) == 0
	for _, i := range j.chosen {
		p := &j.parts[i]
		w := j.waiting(p.known[p.told-p.own].serial)
		p.told++
		if w == nil { // it cannot be
			return ErrFacts
		}
		w.told++
		j.own(i, v.stage)
		if !direct {
			w.heard = append(w.heard, v.rest.parts[i].cut())
		}
	}
	if direct {
		w := &j.wait[j.head]
		v.consistentHeard(&w.pending, w.before)
		w.done = true
	}
	j.complete()
	return nil
}

// complete verifies transactions, in the order in which they ended, as far as all parts have said what they know.
func (j *Joint) complete() {
	v := j.v
	passed := j.parts[0].last
	for i := range j.parts {
		passed = min(passed, j.parts[i].last)
	}
	for ; j.head < len(j.wait); j.head++ {
		w := &j.wait[j.head]
		if !w.done {
			if w.told < w.holders || w.holders < len(j.parts) && passed <= w.c {
				break
			}
			v.stage++
			for i := range w.heard {
				for k := range w.heard[i].facts.all {
					w.heard[i].facts.all[k].stage = v.stage
				}
			}
			parts := v.rest.parts
			v.rest.parts = w.heard
			v.consistentHeard(&w.pending, w.before)
			v.rest.parts = parts
		}
		if w.holders < len(j.parts) {
			if j.partial == 0 {
				j.first = w.id
			}
			j.partial++
		}
		*w = jointTxn{}
	}
	if j.head > 64 && 2*j.head > len(j.wait) {
		j.wait = j.wait[:copy(j.wait, j.wait[j.head:])]
		j.head = 0
	}
}

// trim forgets what transactions are called of which nothing follows any more.
func (j *Joint) trim() {
	for i := range j.parts {
		p := &j.parts[i]
		n := 0
		for n < len(p.known) && p.own+uint64(n) < p.told && p.known[n].d < j.v.floor &&
			(!j.v.g.on || p.known[n].serial < j.v.g.base) {
			n++
		}
		p.own += uint64(n)
		p.known = p.known[:copy(p.known, p.known[n:])]
	}
	if j.keys.Keys() > 2*j.live+manyKeys {
		j.Compact()
	}
}
