package sqlwork

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"go.yaml.in/yaml/v3"

	"isovet/internal/slice"
)

// Parameter says how a parameter's value is drawn.
type Parameter struct {
	// Int is a range of integers with both ends. Zipf, above 1, is the exponent of a skew towards the lower end.
	Int  []int64 `yaml:"int"`
	Zipf float64 `yaml:"zipf"`
	// Differs names a parameter whose value must be different.
	Differs string `yaml:"differs"`
	// Choice lists the possible values.
	Choice []any `yaml:"choice"`
	// Unique gives each statement a new number, for versions.
	Unique bool `yaml:"-"`
}

// UnmarshalYAML also accepts the word "unique".
func (p *Parameter) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		if n.Value != "unique" {
			return fmt.Errorf("line %d: %q; expected unique, {int: [1, 20]} or {choice: [a, b]}", n.Line, n.Value)
		}
		p.Unique = true
		return nil
	}
	if err := known(n, "int", "zipf", "differs", "choice"); err != nil {
		return err
	}
	type plain Parameter
	return n.Decode((*plain)(p))
}

func (p *Parameter) check(name string, all map[string]*Parameter) error {
	if p == nil || !identifier.MatchString(name) {
		return errors.New("expected a name, and unique, {int: [1, 20]} or {choice: [a, b]}")
	}
	if p.Unique {
		return nil
	}
	switch {
	case (p.Int == nil) == (p.Choice == nil):
		return errors.New("expected one of int and choice")
	case p.Int != nil && (len(p.Int) != 2 || p.Int[0] > p.Int[1] || p.Int[1]-p.Int[0] < 0 ||
		p.Int[1]-p.Int[0] == math.MaxInt64):
		return fmt.Errorf("int %v; expected the least and the most value, and less than 2^63 values", p.Int)
	case p.Zipf != 0 && (p.Int == nil || p.Zipf <= 1 || math.IsInf(p.Zipf, 0) || math.IsNaN(p.Zipf)):
		return fmt.Errorf("zipf %v; expected an exponent above 1, of an int", p.Zipf)
	case p.Choice != nil && len(p.Choice) == 0:
		return errors.New("choice: the list is empty; expected values")
	}
	for i, c := range p.Choice {
		switch c := c.(type) {
		case int:
			p.Choice[i] = int64(c)
		case string:
		default:
			return fmt.Errorf("choice %v; expected integers and texts", c)
		}
	}
	if p.Differs == "" {
		return nil
	}
	other := all[p.Differs]
	if other == nil || other == p || other.Differs != "" || other.Unique || p.values() < 2 {
		return fmt.Errorf("differs %q; expected another parameter, which has no differs itself, and at least two "+
			"values", p.Differs)
	}
	return nil
}

// values returns the number of values to draw from.
func (p *Parameter) values() int64 {
	if p.Int != nil {
		return p.Int[1] - p.Int[0] + 1
	}
	return int64(len(slice.Set(p.Choice)))
}

func (p *Parameter) draw(rng *rand.Rand) any {
	switch {
	case p.Choice != nil:
		return p.Choice[rng.IntN(len(p.Choice))]
	case p.Zipf > 1:
		return p.Int[0] + int64(rand.NewZipf(rng, p.Zipf, 1, uint64(p.Int[1]-p.Int[0])).Uint64())
	}
	return p.Int[0] + rng.Int64N(p.Int[1]-p.Int[0]+1)
}

// Draw draws a transaction and its parameters. Unique parameters are drawn later, when a statement is made.
func (w *Workload) Draw(rng *rand.Rand) (*Transaction, map[string]any) {
	total := 0.0
	all := slices.DeleteFunc(slices.Clone(w.Transactions), func(t *Transaction) bool { return t.Last })
	for _, t := range all {
		total += t.Weight
	}
	x := rng.Float64() * total
	chosen := all[len(all)-1]
	for _, t := range all {
		if x -= t.Weight; x < 0 {
			chosen = t
			break
		}
	}
	values := map[string]any{}
	names := make([]string, 0, len(w.Parameters))
	for name := range w.Parameters {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { // parameters with Differs come after the others
		x, y := w.Parameters[a].Differs != "", w.Parameters[b].Differs != ""
		switch {
		case x != y && y:
			return -1
		case x != y:
			return 1
		case a < b:
			return -1
		}
		return 1
	})
	for _, name := range names {
		p := w.Parameters[name]
		if p.Unique {
			continue
		}
		values[name] = p.draw(rng)
		for p.Differs != "" && values[name] == values[p.Differs] {
			values[name] = p.draw(rng)
		}
	}
	return chosen, values
}
