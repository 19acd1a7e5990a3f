package solver

// The arena holds all clauses of three or more literals back to back:
//
//	word 0   length<<flagBits | flags
//	word 1   glue<<usedBits | used; of a moved clause: its new place
//	word 2…  the literals; the first two are watched (if the clause is watched at all)
//
// A reference is the index of word 0. Index 0 is never a clause.
type arena []Lit

const (
	headerLen = 2

	flagLearned Lit = 1 << 0 // may be thrown away
	flagGarbage Lit = 1 << 1 // is being thrown away
	flagMoved   Lit = 1 << 2 // during collection: word 1 is the new place
	flagReason  Lit = 1 << 3 // an explanation of the theory: never watched, lives while it is a reason
	flagBits        = 4

	usedBits = 2
	usedMask = 1<<usedBits - 1

	// maxArena keeps references small enough to be stored in one word with the tag of a reason.
	maxArena = 1 << 30
)

type clauseRef = uint32

func (a arena) size(c clauseRef) int { return int(a[c] >> flagBits) }

func (a arena) lits(c clauseRef) []Lit {
	n := clauseRef(a[c] >> flagBits)
	return a[c+headerLen : c+headerLen+n : c+headerLen+n]
}

func (a arena) glue(c clauseRef) int { return int(a[c+1] >> usedBits) }

func (a arena) used(c clauseRef) int { return int(a[c+1] & usedMask) }

func (a arena) setGlueUsed(c clauseRef, glue, used int) {
	a[c+1] = Lit(glue)<<usedBits | Lit(used)
}

func (a arena) has(c clauseRef, flag Lit) bool { return a[c]&flag != 0 }

// alloc appends a clause and returns its reference, or 0 if the arena is full.
func (s *Solver) alloc(lits []Lit, flags Lit, glue int) clauseRef {
	if len(s.arena)+len(lits)+headerLen > s.opts.MaxArena {
		s.exhausted = true
		return 0
	}
	c := clauseRef(len(s.arena))
	s.arena = append(s.arena, Lit(len(lits))<<flagBits|flags, Lit(glue)<<usedBits)
	s.arena = append(s.arena, lits...)
	return c
}

func (s *Solver) markGarbage(c clauseRef) {
	s.arena[c] |= flagGarbage
	s.wasted += s.arena.size(c) + headerLen
	if s.opts.Proof != nil {
		s.opts.Proof.Delete(s.arena.lits(c))
	}
}

// collect removes garbage: it moves the live clauses together and rewrites all references to them. A clause that is a
// reason must not be garbage.
//
// Cost: linear in the arena and the watch lists.
func (s *Solver) collect() {
	old := s.arena
	fresh := make(arena, 1, len(old)-s.wasted+len(old)/4+64)
	move := func(refs []clauseRef) []clauseRef {
		kept := refs[:0]
		for _, c := range refs {
			if old[c]&flagGarbage != 0 {
				continue
			}
			to := clauseRef(len(fresh))
			fresh = append(fresh, old[c:int(c)+headerLen+old.size(c)]...)
			old[c] |= flagMoved
			old[c+1] = Lit(to)
			kept = append(kept, to)
		}
		return kept
	}
	s.clauses = move(s.clauses)
	s.learned = move(s.learned)
	s.reasons = move(s.reasons)
	for p := range s.watches {
		ws := s.watches[p]
		j := 0
		for _, w := range ws {
			if old[w.ref]&flagMoved != 0 {
				w.ref = uint32(old[w.ref+1])
				ws[j] = w
				j++
			}
		}
		s.watches[p] = ws[:j]
	}
	for _, l := range s.trail {
		d := &s.vars[l>>1]
		if d.reason&reasonTag == reasonClause {
			d.reason = uint32(old[d.reason>>reasonShift+1])<<reasonShift | reasonClause
		}
	}
	s.arena = fresh
	s.wasted = 0
}
