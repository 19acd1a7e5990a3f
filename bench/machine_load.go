package bench

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/internal/slice"
)

// Load is the machine's load average of the last minute, of processes that run or wait to, when a figure begins and
// ends.
type Load struct {
	Begin float64 `json:"begin"`
	End   float64 `json:"end"`
}

// newLoad begins with the current load. It returns nil if the system does not tell.
func newLoad() *Load {
	if b := loadAverage(); b >= 0 {
		return &Load{Begin: b}
	}
	return nil
}

// loadAverage returns the load average, or a negative number if the system does not tell.
func loadAverage() float64 {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return -1
	}
	first, _, _ := strings.Cut(string(b), " ")
	v, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return -1
	}
	return v
}

func (l *Load) String() string {
	if l == nil {
		return "load average not recorded"
	}
	return fmt.Sprintf("load average %.1f at the beginning and %.1f at the end", l.Begin, l.End)
}

// madeOf lists the histories on which a figure is measured, by kind and size.
type madeOf struct {
	names []string
	sizes map[string][]evidence.Sizes
	log   []madeItem // in their order
}

// madeItem is one kind of histories.
type madeItem struct {
	Name  string         `json:"name"`
	Sizes evidence.Sizes `json:"sizes"`
}

// add adds a history of the store in memory.
func (m *madeOf) add(spec datasets.Spec, s evidence.Sizes) {
	name := Source{Workload: cmp.Or(spec.Workload, "blindw"), Variant: spec.Variant}.Name()
	m.addNamed(name+" in memory, "+cmp.Or(spec.Isolation, "serializable"), s)
}

func (m *madeOf) addNamed(name string, s evidence.Sizes) {
	m.log = append(m.log, madeItem{name, s})
	slice.MakeMap(&m.sizes)
	if m.sizes[name] == nil {
		m.names = append(m.names, name)
	}
	if !slices.Contains(m.sizes[name], s) {
		m.sizes[name] = append(m.sizes[name], s)
	}
}

// manySizes is the number of histories of a kind from which on only the least and greatest sizes are shown.
const manySizes = 6

// lines returns a line about each kind of histories.
func (m *madeOf) lines() []string {
	var out []string
	for _, n := range m.names {
		all := m.sizes[n]
		if len(all) >= manySizes {
			span := func(of func(s evidence.Sizes) int) string {
				low, high := of(all[0]), of(all[0])
				for _, s := range all {
					low, high = min(low, of(s)), max(high, of(s))
				}
				if low == high {
					return strconv.Itoa(low)
				}
				return fmt.Sprintf("%d to %d", low, high)
			}
			out = append(out, fmt.Sprintf("%s: %d histories of %s transactions, %s operations, %s keys, %s sessions", n,
				len(all), span(func(s evidence.Sizes) int { return s.Txns }),
				span(func(s evidence.Sizes) int { return s.Ops }), span(func(s evidence.Sizes) int { return s.Keys }),
				span(func(s evidence.Sizes) int { return s.Sessions })))
			continue
		}
		var each []string
		for _, s := range all {
			each = append(each, fmt.Sprintf("%d transactions, %d operations, %d keys, %d sessions", s.Txns, s.Ops,
				s.Keys, s.Sessions))
		}
		out = append(out, n+": "+strings.Join(each, "; "))
	}
	return out
}
