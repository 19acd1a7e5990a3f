package spill

import (
	"cmp"
	"math"
	"slices"

	"isovet/check/spill/plan"
)

// density estimates how many transactions are in a stretch of the order, from a sorted sample of the places of
// committed ones. Time alone says little about their number: clients' clocks may be coarse, and loads come in bursts.
type density struct {
	at    []plan.Pos
	every int
	skip  int
}

// mostSamples bounds a density: 1.5 MB.
const mostSamples = 1 << 16

// newDensity returns a density for this many transactions.
func newDensity(txns int64) *density { return &density{every: int(txns/mostSamples) + 1} }

// add adds the next transaction, in the order of places.
func (d *density) add(p plan.Pos) {
	if d.skip++; d.skip == d.every {
		d.at, d.skip = append(d.at, p), 0
	}
}

// sort ends the additions.
func (d *density) sort() { slices.SortFunc(d.at, plan.Pos.Compare) }

// rank estimates how many transactions come before a place.
func (d *density) rank(p plan.Pos) float64 {
	i, _ := slices.BinarySearchFunc(d.at, p, plan.Pos.Compare)
	part := 1.0 // the share of the stretch between two samples
	if 0 < i && i < len(d.at) {
		lo, hi := d.at[i-1], d.at[i]
		switch {
		case lo.T != hi.T:
			part = (float64(p.T) - float64(lo.T)) / (float64(hi.T) - float64(lo.T))
		case lo.N != hi.N:
			part = (float64(p.N) - float64(lo.N)) / (float64(hi.N) - float64(lo.N))
		}
	}
	return float64(d.every) * max(float64(i)-1+min(max(part, 0), 1), 0)
}

// count estimates the number of transactions in a span.
func (d *density) count(s plan.Span) float64 { return max(d.rank(s.To)-d.rank(s.From), 0) }

// ahead returns the place about this many transactions further, but at least one.
func (d *density) ahead(p plan.Pos, by float64) plan.Pos {
	i, _ := slices.BinarySearchFunc(d.at, p, func(a, p plan.Pos) int {
		return cmp.Or(a.Compare(p), -1) // finds the first after p
	})
	if i += int(by / float64(d.every)); i >= len(d.at) {
		return plan.Last
	}
	p = d.at[i]
	p.Sub = math.MaxUint32
	return p
}

// grow widens a span by about this many transactions at both ends, at least to the next place.
func (d *density) grow(s plan.Span, by float64) plan.Span {
	steps := int(math.Ceil(by / float64(d.every)))
	i, _ := slices.BinarySearchFunc(d.at, s.From, plan.Pos.Compare) // the first that is not before
	if i -= max(steps, 1); i < 0 {
		s.From = plan.Pos{T: plan.First.T + 1}
	} else {
		s.From = d.at[i]
	}
	i, _ = slices.BinarySearchFunc(d.at, s.To, func(a, to plan.Pos) int {
		return cmp.Or(a.Compare(to), -1) // finds the first after to
	})
	if i += max(steps, 1) - 1; i >= len(d.at) {
		s.To = plan.Last
	} else {
		s.To = d.at[i]
		s.To.Sub = math.MaxUint32
	}
	return s
}
