package encode

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/polygraph"
	"isovet/solver"
	"isovet/solver/dimacs"
	"isovet/solver/external"
)

// Export is a text format for problems.
type Export struct {
	Name, About string
	// Eager is set if the format has only clauses, and so must be given MakeEager of the problem.
	Eager bool
	Write func(w io.Writer, q *Problem) error
}

// Exports returns all text formats.
func Exports() []Export {
	return []Export{
		{"dimacs", "DIMACS CNF, for any SAT solver; clauses exclude cycles", true, func(w io.Writer, q *Problem) error {
			return dimacs.Write(w, &dimacs.CNF{Vars: q.Vars, Clauses: q.Clauses})
		}},
		{"gnf", "MonoSAT's GNF: clauses and a graph that must be acyclic", false, func(w io.Writer, q *Problem) error {
			return external.WriteGNF(w, q.graph())
		}},
		{"smt2", "SMT-LIB 2: clauses, and a number for each node that edges make larger (QF_IDL)", false,
			func(w io.Writer, q *Problem) error { return external.WriteSMT(w, q.graph()) }},
	}
}

// graph returns the problem with its graph, in which auxiliary nodes represent real time.
func (q *Problem) graph() *external.Graph {
	full := q.P.FullGraph(nil)
	g := &external.Graph{Vars: q.Vars, Clauses: q.Clauses, Nodes: full.N()}
	for u := range int32(full.N()) {
		for _, v := range full.Succ(u) {
			g.Known = append(g.Known, [2]int32{u, v})
		}
	}
	g.Edges = slice.Map(q.Guards, func(e Guard) external.Edge {
		return external.Edge{From: e.Edge.From, To: e.Edge.To, Lit: e.Lit}
	})
	return g
}

// Types of the lines that WriteMap writes.
type (
	mapNode struct {
		Node int    `json:"node"`
		Txn  int64  `json:"txn"`
		Part string `json:"part,omitempty"`
	}
	mapEdge struct {
		From int64  `json:"from"`
		To   int64  `json:"to"`
		Dep  string `json:"dep"`
		// Key is a key, in JSON.
		Key    json.RawMessage `json:"key,omitempty"`
		FromAt int32           `json:"from_node"`
		ToAt   int32           `json:"to_node"`
	}
	mapVar struct {
		Var    int       `json:"var"` // from 1
		True   []mapEdge `json:"true,omitempty"`
		False  []mapEdge `json:"false,omitempty"`
		Before []int64   `json:"before,omitempty"`
		Nodes  []int32   `json:"before_nodes,omitempty"`
		// Number is the node in whose number the variable is the bit Bit.
		Number *int32 `json:"number_of_node,omitempty"`
		Bit    *int   `json:"bit,omitempty"`
		// Committed is the transaction that committed if the variable is true.
		Committed *int64 `json:"committed,omitempty"`
	}
)

// WriteMap writes what a problem's nodes and variables mean, one JSON object per line. A node's line has its
// transaction and, at the snapshot levels, whether it is the begin or the commit; nodes without a line are moments of
// real time. A variable's line, numbered as in DIMACS, has the edges that the graph has if it is true and if it is
// false, the two nodes of which the first precedes the second if it is true, the bit that it is of a node's number, or
// the transaction that committed if it is true. Variables with none of these only serve the clauses.
func WriteMap(w io.Writer, q *Problem) error {
	p, h := q.P, q.P.V.H
	b := bufio.NewWriter(w)
	e := json.NewEncoder(b)
	id := func(n int32) int64 { return h.Txns.ID[p.Txn[n]] }
	for n := range p.N {
		line := mapNode{Node: n, Txn: id(int32(n))}
		if p.Split {
			line.Part = "begin"
			if p.BeginNode(int32(n)) != int32(n) {
				line.Part = "commit"
			}
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	vars := make([]mapVar, q.Vars)
	for _, g := range q.Guards {
		edge := mapEdge{From: id(g.Edge.From), To: id(g.Edge.To), Dep: g.Edge.Dep.String(), FromAt: g.Edge.From,
			ToAt: g.Edge.To}
		if d := g.Edge.Dep; d == evidence.WW || d == evidence.RW {
			edge.Key = json.RawMessage(h.KeyString(p.V.WKey[g.Edge.W]))
		}
		v := &vars[g.Lit.Var()]
		if g.Lit.IsNeg() {
			v.False = append(v.False, edge)
		} else {
			v.True = append(v.True, edge)
		}
	}
	for _, o := range q.Befores {
		vars[o.Var].Before, vars[o.Var].Nodes = []int64{id(o.U), id(o.V)}, []int32{o.U, o.V}
	}
	for _, b := range slice.Refs(q.Bits) {
		vars[b.Var].Number, vars[b.Var].Bit = &b.Node, &b.Bit
	}
	for u, l := range q.committed {
		if l > 0 {
			vars[(l - 1).Var()].Committed = new(id(int32(u)))
		}
	}
	for i := range vars {
		vars[i].Var = i + 1
		if err := e.Encode(vars[i]); err != nil {
			return err
		}
	}
	return b.Flush()
}

// Model checks an assignment against the clauses and the graph, and returns the edges that it chooses.
func (q *Problem) Model(value func(solver.Var) bool) ([]polygraph.Edge, error) {
	for i, c := range q.Clauses {
		sat := false
		for _, l := range c {
			sat = sat || value(l.Var()) != l.IsNeg()
		}
		if !sat {
			return nil, fmt.Errorf("the model does not satisfy clause %d of %d", i+1, len(q.Clauses))
		}
	}
	edges := q.chosen(value)
	if _, ok := q.P.Order(edges); !ok {
		return nil, fmt.Errorf("the edges that the model chooses have a cycle")
	}
	return edges, nil
}
