package solver

import "strconv"

// Var is a variable, numbered from 0 in the order of [Solver.NewVar].
type Var int32

// Lit is a variable or its negation: 2·v for v, 2·v+1 for ¬v.
type Lit uint32

const (
	// LitUndef is no literal. [Theory.Decide] returns it to leave the decision to the solver.
	LitUndef Lit = 1<<32 - 1
	// LitNone is what [Theory.Decide] returns if nothing more needs to be decided: the unassigned variables are
	// don't-cares. See [Completer].
	LitNone Lit = 1<<32 - 2
)

// Pos returns the literal v.
func Pos(v Var) Lit { return Lit(v) << 1 }

// Neg returns the literal ¬v.
func Neg(v Var) Lit { return Lit(v)<<1 | 1 }

// MkLit returns v or, if neg, ¬v.
func MkLit(v Var, neg bool) Lit {
	if neg {
		return Neg(v)
	}
	return Pos(v)
}

// Not returns ¬l.
func (l Lit) Not() Lit { return l ^ 1 }

// Var returns the variable of l.
func (l Lit) Var() Var { return Var(l >> 1) }

// IsNeg reports whether l is a negated variable.
func (l Lit) IsNeg() bool { return l&1 != 0 }

// Dimacs returns l as DIMACS writes it: ±(v+1).
func (l Lit) Dimacs() int {
	n := int(l>>1) + 1
	if l&1 != 0 {
		return -n
	}
	return n
}

// FromDimacs returns the literal that DIMACS writes as n; n must not be 0.
func FromDimacs(n int) Lit {
	if n < 0 {
		return Neg(Var(-n - 1))
	}
	return Pos(Var(n - 1))
}

// String returns l as DIMACS writes it.
func (l Lit) String() string {
	switch l {
	case LitUndef:
		return "undef"
	case LitNone:
		return "none"
	}
	return strconv.Itoa(l.Dimacs())
}

// Status is the answer of a call of Solve.
type Status uint8

const (
	// Unknown: the context ended, the conflict budget was used up, or a resource ran out.
	Unknown Status = iota
	// Sat: a model was found; read it with Value.
	Sat
	// Unsat: there is no model under the given assumptions.
	Unsat
)

// String returns "unknown", "sat" or "unsat".
func (s Status) String() string {
	switch s {
	case Sat:
		return "sat"
	case Unsat:
		return "unsat"
	}
	return "unknown"
}
