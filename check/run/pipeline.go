package run

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"isovet/closure"
	"isovet/encode"
	"isovet/solver"
	"isovet/solver/external"
)

// Pipeline names the choices of a checker's pipeline, one a field; "" is the checker's default. None of them may change
// a verdict: isovet bench ablate measures them against each other and compares the verdicts. The back end and its
// theory are [Options.Solver]. Which of them a checker has, and which values, Info.Settings says.
type Pipeline struct {
	// Closure is the closure that prunes: a name of Closures. Default of vbox: purdom+ where times keep it small, else
	// purdom; of cobra: warshall, and purdom from the second round; of viper: purdom.
	Closure string `json:"closure,omitempty"`
	// Pruning is how: a name of Prunings. Default: edges where the closure is compact, else rounds.
	Pruning string `json:"pruning,omitempty"`
	// Encoding is a name of encode.Encodings or of Extra. Default: vbox; of cobra: cobra.
	Encoding string `json:"encoding,omitempty"`
	// Phase is the first value of each variable: a name of Phases. Default: time.
	Phase string `json:"phase,omitempty"`
	// AtMostOne demands that a predicate operation was based on one version only, as the paper's Eq. 7 does: a value of
	// AtMostOnes. Default: off.
	AtMostOne string `json:"at_most_one,omitempty"`
	// Technique is one that is left out or put in place of another: a value of Techniques. Default: default.
	Technique string `json:"technique,omitempty"`
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

	theoryAuto = "auto"
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

// EncodingFirst are all encodings, a checker's own first.
func EncodingFirst(own string) []string {
	names := []string{own}
	for _, n := range (Pipeline{}).EncodingNames() {
		if n != own {
			names = append(names, n)
		}
	}
	return names
}

func (p Pipeline) encodings() []encode.Encoding { return append(encode.Encodings(), p.Extra...) }

// Encoder is the encoding to use, a checker's own where none was asked for; unfit has been called.
func (p Pipeline) Encoder(own string) encode.Encoding {
	all := p.encodings()
	name := cmp.Or(p.Encoding, own)
	return all[max(0, slices.IndexFunc(all, func(e encode.Encoding) bool { return e.Name == name }))]
}

// shape makes a problem what the pipeline asks for beside its encoding: first values, and how is searched.
func (p Pipeline) shape(q *encode.Problem) {
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
	if t := p.technique(); t.set != nil {
		t.set(&q.Search)
	}
}

// SolverFor names the solver (Solvers) of a back end that keeps the graph acyclic in a given way: "closure" or "order",
// a theory of isovet's own CDCL; "auto", the order, and after many conflicts the closure; "lazy", a clause for each
// cycle found; "eager", clauses for all of them; "own", that of another program. false: there is none.
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

// Theories lists the ways to keep the graph acyclic. "auto" is not among them, being one or the other.
func Theories() []string {
	names := distinct(func(s Solver) string { return s.Theory })
	return append(slices.DeleteFunc(names, func(n string) bool { return n == theoryAuto }), encode.TheoryOwn)
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
