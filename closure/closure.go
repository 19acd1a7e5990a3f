package closure

import (
	"errors"
	"fmt"

	"isovet/internal/graph"
)

// Index answers reachability questions; every node reaches itself. It may be used concurrently while no edge is added
// or undone.
type Index interface {
	Reaches(u, v int32) bool
}

// Dynamic is a closure to which edges can be added, and from which they can be undone, last in first out.
type Dynamic interface {
	Index

	// AddEdge adds u→v under the caller's tag. If it would close a cycle (a self-loop does), cycle is true and nothing
	// changes; Path(v, u, …) gives the rest of the cycle. changed tells whether any pair became reachable.
	AddEdge(u, v, tag int32) (changed, cycle bool)

	// Mark returns a mark for Undo: the number of edges added so far.
	Mark() int

	// Undo removes the edges added since the mark was taken, which can be used again.
	Undo(mark int)

	// Settle makes the present edges permanent and frees what undoing them would need. Earlier marks become invalid.
	Settle()

	// Path explains why u reaches v by a path of least total cost, empty if u = v; nil, false if u does not reach v.
	// cost gives 0 or 1 for the tag of an added edge, nil meaning 1 for all; known edges and time edges cost nothing,
	// and at most one step is a time edge. The slice is valid until the next call.
	Path(u, v int32, cost func(tag int32) int8) (path []Step, ok bool)
}

// StepKind is the kind of an edge in a path: known, added or a time edge.
type StepKind uint8

const (
	Known StepKind = iota // an edge of Input.Known
	Time                  // end(From) + skew < start(To)
	Added                 // an edge given to AddEdge, with its tag
)

func (k StepKind) String() string {
	switch k {
	case Known:
		return "known"
	case Time:
		return "time"
	case Added:
		return "added"
	}
	return fmt.Sprintf("StepKind(%d)", uint8(k))
}

// Step is one edge of a path. Tag is 0 unless the edge was added.
type Step struct {
	From, To int32
	Kind     StepKind
	Tag      int32
}

// Input is the graph to close. The slices and the graph are kept and must not change.
type Input struct {
	N          int
	Start, End []int64 // windows; both nil: unbounded, no time edges. graph.NoStart and graph.NoEnd are unbounded sides
	Skew       int64   // clock error allowed between any two time stamps, ≥ 0
	Known      *graph.CSR
}

// Options tune a closure; the zero value is the default.
type Options struct {
	// Stragglers is the number of longest transactions that a compact closure takes out of the start order: 0 chooses
	// the number that needs the least memory, negative means none.
	Stragglers int

	// MaxBytes makes a constructor fail with [ErrTooLarge] if the rows would need more bytes; 0 means no limit but the
	// memory that is still available, as far as that is known (internal/room).
	MaxBytes int64

	// Stop, if set, is asked now and then whether to give up; the constructor then fails with [ErrStopped].
	Stop func() bool
}

// ErrStopped is the error of a construction that Options.Stop ended.
var ErrStopped = errors.New("closure: stopped")

// ErrTooLarge is the error of a construction that would exceed Options.MaxBytes.
var ErrTooLarge = errors.New("closure: too large")

// Kind names an algorithm that builds a closure.
type Kind string

const (
	KindWarshall     Kind = "warshall"
	KindPurdom       Kind = "purdom"
	KindItaliano     Kind = "italiano"
	KindAlgorithm1   Kind = "algorithm-1"
	KindPurdomPlus   Kind = "purdom+"
	KindItalianoPlus Kind = "italiano+"
)

// Kinds lists all kinds, slowest first.
func Kinds() []Kind {
	return []Kind{KindWarshall, KindPurdom, KindItaliano, KindAlgorithm1, KindItalianoPlus, KindPurdomPlus}
}

// New builds a closure of the given kind. If the input has a cycle, it returns no closure but the cycle, whose last
// step leads to the start of its first. The error is about a malformed input (lengths, node ids, negative skew, unknown
// kind) or wraps [ErrTooLarge].
func New(kind Kind, in Input, opt Options) (Dynamic, []Step, error) {
	var build func(Input, Options) (*Matrix, []Step, error)
	switch kind {
	case KindWarshall:
		build = Warshall
	case KindPurdom:
		build = Purdom
	case KindItaliano:
		build = Italiano
	case KindPurdomPlus, KindItalianoPlus, KindAlgorithm1:
		buildCompact := PurdomPlus
		switch kind {
		case KindItalianoPlus:
			buildCompact = ItalianoPlus
		case KindAlgorithm1:
			buildCompact = Algorithm1
		}
		c, cycle, err := buildCompact(in, opt)
		if c == nil {
			return nil, cycle, err
		}
		return c, nil, nil
	default:
		return nil, nil, fmt.Errorf("closure: unknown kind %q, want one of %q", kind, Kinds())
	}
	m, cycle, err := build(in, opt)
	if m == nil {
		return nil, cycle, err
	}
	return m, nil, nil
}
