package proof

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"isovet/solver"
)

// Checker checks a proof clause by clause. It shares no code with the solver but the literal type. It
// is a [solver.Proof], so it can also listen to a running solver. The zero value is ready to use.
//
// Every learned clause must follow by unit propagation; every deleted clause must be present. A deleted clause may have
// propagated a fact already; the fact stays, since it follows from what was there. Input clauses and lemmas are taken
// on trust; OnInput and OnLemma let the caller judge them.
type Checker struct {
	// OnInput and OnLemma, if not nil, judge input clauses and theory lemmas.
	OnInput func(lits []solver.Lit) error
	OnLemma func(lits []solver.Lit) error

	clauses map[string][]*clause // sorted literals → the clauses present
	watches [][]*clause          // literal → clauses of which it is watched
	vals    []int8               // literal → 1 true, -1 false
	trail   []solver.Lit         // facts, then what the check at hand assumed and found
	head    int
	closed  bool // a conflict among the facts: everything follows
	empty   bool // the empty clause was learned
	last    []solver.Lit
	steps   int
	err     error
}

var _ solver.Proof = (*Checker)(nil)

type clause struct {
	lits    []solver.Lit // the first two are watched
	deleted bool
}

// Err returns the first fault found, or nil.
func (c *Checker) Err() error { return c.err }

// Refuted reports whether the proof is sound so far and has learned the empty clause.
func (c *Checker) Refuted() bool { return c.err == nil && c.empty }

// Last returns the clause that was learned last, sorted; the negations of the failed assumptions after
// an Unsat under assumptions.
func (c *Checker) Last() []solver.Lit { return c.last }

// Input adds an input clause.
func (c *Checker) Input(lits []solver.Lit) {
	c.steps++
	c.judge(c.OnInput, "input clause", lits)
	c.add(lits)
}

func (c *Checker) judge(by func([]solver.Lit) error, what string, lits []solver.Lit) {
	if c.err != nil || by == nil {
		return
	}
	if err := by(lits); err != nil {
		c.err = fmt.Errorf("step %d: %s %v: %w", c.steps, what, lits, err)
	}
}

// Lemma adds a theory lemma.
func (c *Checker) Lemma(lits []solver.Lit) {
	c.steps++
	c.judge(c.OnLemma, "lemma", lits)
	c.add(lits)
}

// Learn checks a learned clause and adds it.
func (c *Checker) Learn(lits []solver.Lit) {
	c.steps++
	if c.err != nil {
		return
	}
	if !c.follows(lits) {
		c.err = fmt.Errorf("step %d: clause %v does not follow by unit propagation", c.steps, lits)
		return
	}
	c.last = normal(lits)
	if len(lits) == 0 {
		c.empty = true
	}
	c.add(lits)
}

// Delete removes a clause.
func (c *Checker) Delete(lits []solver.Lit) {
	c.steps++
	if c.err != nil {
		return
	}
	k := key(normal(lits))
	l := c.clauses[k]
	if len(l) == 0 {
		c.err = fmt.Errorf("step %d: clause %v is deleted but not present", c.steps, lits)
		return
	}
	l[len(l)-1].deleted = true
	c.clauses[k] = l[:len(l)-1]
}

func normal(lits []solver.Lit) []solver.Lit {
	s := slices.Clone(lits)
	slices.Sort(s)
	return slices.Compact(s)
}

func key(sorted []solver.Lit) string {
	b := make([]byte, 0, 4*len(sorted))
	for _, l := range sorted {
		b = append(b, byte(l), byte(l>>8), byte(l>>16), byte(l>>24))
	}
	return string(b)
}

func (c *Checker) grow(lits []solver.Lit) {
	for _, l := range lits {
		for len(c.vals) <= int(l|1) {
			c.vals = append(c.vals, 0, 0)
			c.watches = append(c.watches, nil, nil)
		}
	}
}

func (c *Checker) add(lits []solver.Lit) {
	if c.err != nil {
		return
	}
	c.grow(lits)
	lits = normal(lits)
	cl := &clause{lits: lits}
	if c.clauses == nil {
		c.clauses = map[string][]*clause{}
	}
	k := key(lits)
	c.clauses[k] = append(c.clauses[k], cl)
	if c.closed {
		return
	}
	// Watch two literals that are not false, if there are two.
	cl.lits = slices.Clone(lits)
	n := 0
	for i, l := range cl.lits {
		if c.vals[l] >= 0 {
			cl.lits[i], cl.lits[n] = cl.lits[n], cl.lits[i]
			if n++; n == 2 {
				break
			}
		}
	}
	switch n {
	case 0:
		c.closed = true
	case 1:
		// Facts are for ever, so the clause has done its work.
		if c.vals[cl.lits[0]] == 0 {
			c.set(cl.lits[0])
			c.closed = !c.propagate()
		}
	default:
		c.watches[cl.lits[0]] = append(c.watches[cl.lits[0]], cl)
		c.watches[cl.lits[1]] = append(c.watches[cl.lits[1]], cl)
	}
}

func (c *Checker) set(l solver.Lit) {
	c.vals[l], c.vals[l^1] = 1, -1
	c.trail = append(c.trail, l)
}

// propagate returns false on a conflict.
func (c *Checker) propagate() bool {
	for c.head < len(c.trail) {
		f := c.trail[c.head].Not()
		c.head++
		ws := c.watches[f]
		kept := ws[:0]
	next:
		for i, cl := range ws {
			if cl.deleted {
				continue
			}
			if cl.lits[0] == f {
				cl.lits[0], cl.lits[1] = cl.lits[1], f
			}
			if c.vals[cl.lits[0]] > 0 {
				kept = append(kept, cl)
				continue
			}
			for k := 2; k < len(cl.lits); k++ {
				if q := cl.lits[k]; c.vals[q] >= 0 {
					cl.lits[1], cl.lits[k] = q, f
					c.watches[q] = append(c.watches[q], cl)
					continue next
				}
			}
			kept = append(kept, cl)
			if c.vals[cl.lits[0]] < 0 {
				kept = append(kept, ws[i+1:]...)
				c.watches[f] = kept
				return false
			}
			c.set(cl.lits[0])
		}
		c.watches[f] = kept
	}
	return true
}

// follows assumes the negation of the clause and looks for a conflict.
func (c *Checker) follows(lits []solver.Lit) bool {
	if c.closed {
		return true
	}
	c.grow(lits)
	facts := len(c.trail)
	found := false
	for _, l := range lits {
		if c.vals[l] > 0 {
			found = true
			break
		}
		if c.vals[l] == 0 {
			c.set(l.Not())
		}
	}
	found = found || !c.propagate()
	for _, l := range c.trail[facts:] {
		c.vals[l], c.vals[l^1] = 0, 0
	}
	c.trail = c.trail[:facts]
	c.head = facts
	return found
}

// Read checks the proof in r, listening with c. It returns an error of reading or of the text's form,
// with the line, or the first fault of the proof.
func (c *Checker) Read(r io.Reader) error {
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 1<<16), 1<<28)
	for line := 1; sc.Scan(); line++ {
		text := strings.TrimSpace(sc.Text())
		if text == "" || text[0] == 'c' {
			continue
		}
		do := c.Learn
		switch text[0] {
		case 'i':
			do, text = c.Input, text[1:]
		case 't':
			do, text = c.Lemma, text[1:]
		case 'd':
			do, text = c.Delete, text[1:]
		}
		var lits []solver.Lit
		ended := false
		for _, f := range strings.Fields(text) {
			n, err := strconv.ParseInt(f, 10, 32)
			if err != nil || ended || n == -1<<31 {
				return fmt.Errorf("line %d: %q: expected literals and then 0", line, f)
			}
			if n == 0 {
				ended = true
				continue
			}
			lits = append(lits, solver.FromDimacs(int(n)))
		}
		if !ended {
			return fmt.Errorf("line %d: the clause does not end with 0", line)
		}
		do(lits)
		if c.err != nil {
			return fmt.Errorf("line %d: %w", line, c.err)
		}
	}
	return sc.Err()
}

// ErrNotRefuted is returned by [Check] for a sound proof that does not end in the empty clause.
var ErrNotRefuted = errors.New("the proof does not reach the empty clause")

// Check reads a proof of unsatisfiability without theory lemmas and checks it against the clauses: its
// input lines must be among them.
func Check(r io.Reader, cnf [][]solver.Lit) error {
	have := map[string]bool{}
	for _, cl := range cnf {
		have[key(normal(cl))] = true
	}
	c := Checker{
		OnInput: func(lits []solver.Lit) error {
			if !have[key(normal(lits))] {
				return errors.New("not a clause of the formula")
			}
			return nil
		},
		OnLemma: func([]solver.Lit) error { return errors.New("no theory is known here") },
	}
	if err := c.Read(r); err != nil {
		return err
	}
	if !c.Refuted() {
		return ErrNotRefuted
	}
	return nil
}
