package run

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"isovet/closure"
	"isovet/encode"
	"isovet/internal/slice"
	"isovet/solver/external"
)

// Pipeline has the settings of a checker's pipeline, one per field; "" is the checker's default. No setting may change
// a verdict: isovet bench compare measures them and compares the verdicts. [Options.Solver] names the back end and its
// theory. Info.Settings says which settings and values a checker has.
type Pipeline struct {
	// Closure is the closure for pruning: a name of Closures. The default of vbox is purdom+ if times keep it small,
	// else purdom; of cobra warshall, and purdom from the second round; of viper purdom.
	Closure string `json:"closure,omitempty"`
	// Pruning is a name of Prunings. The default is edges if the closure is compact, else rounds.
	Pruning string `json:"pruning,omitempty"`
	// Encoding is a name of encode.Encodings or of Extra. Default: vbox; of cobra: cobra.
	Encoding string `json:"encoding,omitempty"`
	// Phase is the first value of each variable: a name of Phases. Default: time.
	Phase string `json:"phase,omitempty"`
	// AtMostOne demands that a predicate operation saw only one version of a key, as the paper's Eq. 7 does: a value of
	// AtMostOnes. Default: off.
	AtMostOne string `json:"at_most_one,omitempty"`
	// Technique leaves out or replaces one technique: a value of Techniques. Default: default.
	Technique string `json:"technique,omitempty"`
	// Extra are encodings in addition to encode.Encodings.
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
	names := slice.Map(closure.Kinds(), func(k closure.Kind) string { return string(k) })
	slices.Reverse(names)
	return names
}

// Prunings lists the values of Pipeline.Pruning, the default first: the closure is updated with each settled edge; it
// is computed again each round, as Cobra does; nothing is pruned.
func Prunings() []string { return []string{pruneEdges, pruneRounds, pruneNone} }

// Phases lists the values of Pipeline.Phase, the default first: what client times, or places in sessions, suggest
// (errata V28); all false, as MiniSat does; the opposite of the suggestion; random.
func Phases() []string { return []string{phaseTime, phaseNegative, phaseReversed, phaseRandom} }

// AtMostOnes lists the values of Pipeline.AtMostOne, the default first.
func AtMostOnes() []string { return []string{"off", "on"} }

// EncodingNames lists the values of Pipeline.Encoding, the default first.
func (p Pipeline) EncodingNames() []string {
	return slice.Map(p.encodings(), func(e encode.Encoding) string { return e.Name })
}

// EncodingFirst returns all encodings, a checker's own first.
func EncodingFirst(own string) []string {
	return slice.Union([]string{own}, Pipeline{}.EncodingNames()...)
}

func (p Pipeline) encodings() []encode.Encoding { return append(encode.Encodings(), p.Extra...) }

// Encoder returns the encoding to use, a checker's own by default. Unfit has been called.
func (p Pipeline) Encoder(own string) encode.Encoding {
	all := p.encodings()
	name := cmp.Or(p.Encoding, own)
	return all[max(0, slices.IndexFunc(all, func(e encode.Encoding) bool { return e.Name == name }))]
}

// shape applies the other settings of the pipeline to a problem: first values, and the search.
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

// SolverFor returns the solver (Solvers) of a back end that keeps the graph acyclic in a given way: "closure" or
// "order", a theory of isovet's CDCL; "auto", the order, and after many conflicts the closure; "lazy", a clause for
// each cycle found; "eager", clauses for all cycles; "own", that of another program. It returns false if there is none.
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

// Theories lists the ways to keep the graph acyclic, without "auto", which chooses among them.
func Theories() []string {
	names := slice.Union(nil, slice.Map(Solvers(), func(s Solver) string { return s.Theory })...)
	return append(slices.DeleteFunc(names, func(n string) bool { return n == theoryAuto }), encode.TheoryOwn)
}
