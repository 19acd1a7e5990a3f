package polygraph_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"isovet/check/prepass"
	"isovet/closure"
	"isovet/evidence"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/polygraph"
)

// describe lists edges by the transactions' ids, as in "1>2 rw", sorted.
func describe(p *polygraph.Polygraph, edges []polygraph.Edge) string {
	var out []string
	for _, e := range edges {
		ids := p.V.H.Txns.ID
		out = append(out, fmt.Sprintf("%d>%d %s", ids[p.Txn[e.From]], ids[p.Txn[e.To]], e.Dep))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), ", ")
}

func side(p *polygraph.Polygraph, a, b uint32) string {
	var edges []polygraph.Edge
	p.Side(a, b, func(e polygraph.Edge) bool { edges = append(edges, e); return true })
	return describe(p, edges)
}

// figure1 is Figure 1 of [Vbox] without its predicate read: t0, t1, t2 write x and y, t3 reads x of t1. The ids are 1
// higher than the paper's.
const figure1 = "s0: w(x,0) w(y,0) | s1: w(x,1) w(y,1) | s2: w(x,2) w(y,2) | s3: r(x,1)"

// TestVboxFigure2: Figure 2(a), the item constraints (E01,E10), (E02,E20), (E12,E21) of Figure 1, by Eqs. 1 and 2.
func TestVboxFigure2(t *testing.T) {
	p := polygraph.New(prepass.Run(notation.MustParse(figure1)), level.Serializable, polygraph.Options{})
	must.Equal(t, describe(p, p.Known), "2>4 wr", "known")
	p.AllPairs()
	must.Be(t, p.Pairs == 6 && len(p.Choices) == 6,
		"%d pairs, %d choices; want 6: three of x and three of y", p.Pairs, len(p.Choices))
	want := map[string]string{
		"x 1 2": "1>2 ww / 2>1 ww, 4>1 rw", // E01, E10: t3 reads t1
		"x 1 3": "1>3 ww / 3>1 ww",
		"x 2 3": "2>3 ww, 4>3 rw / 3>2 ww",
		"y 1 2": "1>2 ww / 2>1 ww",
		"y 1 3": "1>3 ww / 3>1 ww",
		"y 2 3": "2>3 ww / 3>2 ww",
	}
	for _, c := range p.Choices {
		h := p.V.H
		at := fmt.Sprintf("%s %d %d", h.Texts.Text(uint32(h.Keys[p.V.WKey[c.A]].N)), h.Txns.ID[p.V.WTxn[c.A]],
			h.Txns.ID[p.V.WTxn[c.B]])
		ea, eb := c.Either()
		oa, ob := c.Or()
		must.Equal(t, side(p, ea, eb)+" / "+side(p, oa, ob), want[at], "%s", at)
	}
}

// TestEquationsExcludeTheWriter: errata V2, a reader that overwrites what it read gives no edge to itself.
func TestEquationsExcludeTheWriter(t *testing.T) {
	p := polygraph.New(prepass.Run(notation.MustParse("init=0: s1: w(x,1) | s2: r(x,1) w(x,2) | s3: r(x,1)")),
		level.Serializable, polygraph.Options{})
	p.AllPairs()
	c := p.Choices[0]
	must.Equal(t, side(p, c.A, c.B), "1>2 ww, 3>2 rw", "a side")
	for _, e := range p.Known {
		must.Be(t, e.From != e.To, "a loop in the known graph: %+v", e)
	}
}

// TestInitialVersions: errata V4, a reader of an initial version precedes every writer of the key but itself.
func TestInitialVersions(t *testing.T) {
	for _, text := range []string{"init=0: s1: r(x,0) w(x,1) | s2: w(x,2) | s3: r(x,0)",
		"init: w(x,0) | s1: r(x,0) w(x,1) | s2: w(x,2) | s3: r(x,0)"} {
		p := polygraph.New(prepass.Run(notation.MustParse(text)), level.Serializable, polygraph.Options{})
		must.Equal(t, describe(p, p.Known), "1>2 rw, 3>1 rw, 3>2 rw", "%s", text)
	}
}

// TestAvoidance: [Vbox] §4.2 and §4.3 as errata V7 and V9 correct them. Only writers that overlap, touching intervals
// included, leave a choice; of the others time tells the order, and a stale reader precedes the writer that it missed.
func TestAvoidance(t *testing.T) {
	p := polygraph.New(prepass.Run(notation.MustParse(
		"s1: w(x,1) @[0,1] | s2: w(x,2) @[1,2] | s3: w(x,3) @[3,4] | s4: r(x,1) @[5,6]")), level.StrictSerializable,
		polygraph.Options{RealTime: true})
	p.Overlapping()
	must.Be(t, len(p.Choices) == 1 && side(p, p.Choices[0].A, p.Choices[0].B) == "1>2 ww, 4>2 rw",
		"%d choices; want that of 1 and 2 only", len(p.Choices))
	must.Equal(t, describe(p, p.Known), "1>4 wr, 4>3 rw", "known")
	must.Equal(t, describe(p, p.KnownCycle()), "3>4 rt, 4>3 rw", "cycle")
	// The order that time gave 1 and 3 is an assumption of that cycle, with a reason of its own.
	reasons := p.Reasons([][]polygraph.Edge{p.KnownCycle()})
	must.Be(t, len(reasons) == 2 && describe(p, reasons[1]) == "1>3 rt, 3>1 ww", "reasons: %v", reasons)
}

// TestCobraChains: [Cobra] §4.2, consecutive read-modify-writes are one chain, and the choices are between chains.
func TestCobraChains(t *testing.T) {
	p := polygraph.New(prepass.Run(notation.MustParse(
		"init=0: s1: w(x,1) | s2: r(x,1) w(x,2) | s3: r(x,2) w(x,3) | s4: w(x,4) | s5: r(x,4) w(x,5) | s6: r(x,1)")),
		level.Serializable, polygraph.Options{})
	p.Combine()
	must.Equal(t, describe(p, p.Known), "1>2 wr, 1>6 wr, 2>3 wr, 4>5 wr, 6>2 rw", "known")
	must.Hold(t, p.Pairs == 10 && len(p.Choices) == 1, "%d pairs, %d choices; want 10 and 1", p.Pairs, len(p.Choices))
	ea, eb := p.Choices[0].Either()
	oa, ob := p.Choices[0].Or()
	must.Equal(t, side(p, ea, eb)+" / "+side(p, oa, ob), "3>4 ww / 5>1 ww", "the choice")
	// A chain from the initial version precedes the others.
	p = polygraph.New(prepass.Run(notation.MustParse("init=0: s1: r(x,0) w(x,1) | s2: w(x,2) | s3: r(x,1)")),
		level.Serializable, polygraph.Options{})
	p.Combine()
	if got, want := describe(p, p.Known), "1>2 rw, 1>2 ww, 1>3 wr, 3>2 rw"; got != want || len(p.Choices) != 0 {
		t.Errorf("known: %s, %d choices; want %s, none", got, len(p.Choices), want)
	}
	// A lost update is a cycle of known edges.
	p = polygraph.New(prepass.Run(notation.MustParse("s0: w(x,0) | s1: r(x,0) w(x,1) | s2: r(x,0) w(x,2)")),
		level.Serializable, polygraph.Options{})
	p.Combine()
	must.Equal(t, describe(p, p.KnownCycle()), "2>3 rw, 3>2 rw", "cycle")
}

// TestPruning: [Vbox] §4.3, a side whose edge would close a cycle leaves the other; neither is a violation.
func TestPruning(t *testing.T) {
	prune := func(text string) (*polygraph.Polygraph, *polygraph.Conflict) {
		p := polygraph.New(prepass.Run(notation.MustParse(text)), level.Serializable, polygraph.Options{})
		p.AllPairs()
		reach, cycle, err := closure.New(closure.KindPurdomPlus, closure.Input{N: p.N, Known: p.Graph(true)},
			closure.Options{})
		if err != nil || cycle != nil {
			t.Fatal(cycle, err)
		}
		conflict, err := p.Prune(context.Background(), reach)
		must.OK(t, err)
		return p, conflict
	}
	// 1 before 2 by y, so its x comes first too, and 3, which read it, precedes 2.
	p, conflict := prune("s1: w(x,1) w(y,1) | s2: r(y,1) w(x,2) | s3: r(x,1)")
	if got, want := describe(p, p.Known), "1>2 wr, 1>3 wr, 3>2 rw"; conflict != nil || len(p.Choices) != 0 ||
		got != want {
		t.Errorf("known: %s, conflict %v; want %s", got, conflict, want)
	}
	must.Be(t, len(p.Settled) == 1 && p.Settled[0].Bad.Dep == evidence.WW, "settled: %+v", p.Settled)
	p, conflict = prune("s1: w(x,1) w(y,1) | s2: r(y,1) w(x,2) w(z,2) | s3: r(z,2) r(x,1)")
	must.Hold(t, conflict != nil, "no conflict")
	cycles := p.ConflictCycles(conflict)
	if got, want := describe(p, cycles[0])+" / "+describe(p, cycles[1]),
		"2>3 wr, 3>2 rw / 1>2 wr, 2>1 ww"; got != want {
		t.Errorf("conflict: %s; want %s", got, want)
	}
}
