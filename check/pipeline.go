package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"isovet/closure"
	"isovet/encode"
	"isovet/solver"
	"isovet/solver/external"
)

// Pipeline names vbox's choices, one a field; "" is the default. None of them may change a verdict: isovet bench ablate
// measures them against each other and compares the verdicts. The back end and its theory are [Options.Solver].
type Pipeline struct {
	// Closure is the closure that prunes: a name of Closures. Default: purdom+ where times keep it small, else purdom.
	Closure string `json:"closure,omitempty"`
	// Pruning is how: a name of Prunings. Default: edges where the closure is compact, else rounds.
	Pruning string `json:"pruning,omitempty"`
	// Encoding is a name of encode.Encodings or of Extra. Default: vbox.
	Encoding string `json:"encoding,omitempty"`
	// Phase is the first value of each variable: a name of Phases. Default: time.
	Phase string `json:"phase,omitempty"`
	// AtMostOne demands that a predicate operation was based on one version only, as the paper's Eq. 7 does: a value of
	// AtMostOnes. Default: off.
	AtMostOne string `json:"at_most_one,omitempty"`
	// Extra are encodings beside encode.Encodings.
	Extra []encode.Encoding `json:"-"`
}

const (
	pruneEdges  = "edges"
	pruneRounds = "rounds"
	pruneNone   = "none"

	phaseTime     = "time"
	phaseNegative = "negative"
	phaseReversed = "reversed"
	phaseRandom   = "random"

	theoryOwn = "own" // of another program
)

// Closures lists the values of Pipeline.Closure, the default first.
func Closures() []string {
	var names []string
	for _, k := range closure.Kinds() {
		names = append(names, string(k))
	}
	slices.Reverse(names)
	return names
}

// Prunings lists the values of Pipeline.Pruning, the default first: the closure updated by each edge that is settled;
// computed anew each round, as Cobra does; nothing pruned.
func Prunings() []string { return []string{pruneEdges, pruneRounds, pruneNone} }

// Phases lists the values of Pipeline.Phase, the default first: what client times, or places in sessions, suggest
// (errata V28); all false, as MiniSat does; the opposite of the suggestion; random.
func Phases() []string { return []string{phaseTime, phaseNegative, phaseReversed, phaseRandom} }

// AtMostOnes lists the values of Pipeline.AtMostOne, the default first.
func AtMostOnes() []string { return []string{"off", "on"} }

// EncodingNames lists the values of Pipeline.Encoding, the default first.
func (p Pipeline) EncodingNames() []string {
	var names []string
	for _, e := range p.encodings() {
		names = append(names, e.Name)
	}
	return names
}

func (p Pipeline) encodings() []encode.Encoding { return append(encode.Encodings(), p.Extra...) }

func (p Pipeline) validate() error {
	for _, f := range []struct {
		what, value string
		names       []string
	}{{"closure", p.Closure, Closures()}, {"pruning", p.Pruning, Prunings()}, {"encoding", p.Encoding,
		p.EncodingNames()}, {"phase heuristic", p.Phase, Phases()},
		{"at-most-one", p.AtMostOne, AtMostOnes()}} {
		if f.value != "" && !slices.Contains(f.names, f.value) {
			return fmt.Errorf("unknown %s %q; expected one of %s", f.what, f.value, strings.Join(f.names, ", "))
		}
	}
	return nil
}

// encoding is the one to use; validate has been called.
func (p Pipeline) encoding() encode.Encoding {
	all := p.encodings()
	for _, e := range all {
		if e.Name == p.Encoding {
			return e
		}
	}
	return all[0]
}

// setPhase overwrites what the encoding suggests.
func (p Pipeline) setPhase(q *encode.Problem) {
	r := rand.New(rand.NewPCG(1, uint64(len(q.Phase))))
	for v, b := range q.Phase {
		switch p.Phase {
		case phaseNegative:
			q.Phase[v] = false
		case phaseReversed:
			q.Phase[v] = !b
		case phaseRandom:
			q.Phase[v] = r.IntN(2) == 0
		}
	}
}

// SolverFor names the solver (Solvers) of a back end that keeps the graph acyclic in a given way: "closure" or "order",
// a theory of isovet's own CDCL; "lazy", a clause for each cycle found; "eager", clauses for all of them; "own", that
// of another program. false: there is none.
func SolverFor(backend, theory string) (string, bool) {
	if external.Is(backend) {
		return backend, LookupSolver(backend).Theory == theory
	}
	for _, s := range Solvers() {
		if s.Backend == backend && s.Theory == theory {
			return s.Name, true
		}
	}
	return "", false
}

// Backends lists the back ends, the default first.
func Backends() []string { return distinct(func(s Solver) string { return s.Backend }) }

// Theories lists the ways to keep the graph acyclic, the default first.
func Theories() []string {
	return append(distinct(func(s Solver) string { return s.Theory }), theoryOwn)
}

func distinct(get func(Solver) string) []string {
	var names []string
	for _, s := range Solvers() {
		if n := get(s); !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// tooLarge says that a problem would be too large to write down.
func tooLarge(e encode.Encoding, clauses int) encode.Answer {
	return encode.Answer{Status: solver.Unknown, Reason: fmt.Sprintf("encoding %s would make %d clauses, more than %d",
		e.Name, clauses, maxEager)}
}
