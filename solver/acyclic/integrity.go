package acyclic

import "fmt"

// CheckIntegrity verifies that the graph is sound and holds the edges of the literals told, and, for
// PK, that the counts of backward edges are right. It must not be called between a conflict and the
// backtracking that follows.
//
// Cost: at least linear in everything.
func (t *theory) CheckIntegrity() error {
	if err := t.g.check(); err != nil {
		return err
	}
	edges := t.base
	for _, l := range t.told {
		if !t.holds(l) {
			return fmt.Errorf("acyclic: literal %v was told but its value is %d", l, t.value[l.Var()])
		}
		for i := t.head[l]; i >= 0; i = t.next[i] {
			edges++
		}
	}
	if m := t.g.mark(); m != edges {
		return fmt.Errorf("acyclic: %d edges in the graph, %d told", m, edges)
	}
	return nil
}

func (t *theory) mustBeSound() {
	if err := t.CheckIntegrity(); err != nil {
		panic(err)
	}
}
