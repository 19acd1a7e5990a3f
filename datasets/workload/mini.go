package workload

import (
	"fmt"
	"slices"
	"strings"
)

func newMini(p Params) (Workload, error) {
	if err := needKeys(p, 2); err != nil {
		return nil, err
	}
	dist, shapes := miniDist(p), miniShapes
	if all := allShapes(); p.Shape == "all" || p.Shape == "" && p.Variant == "shapes" {
		shapes = all
	} else if p.Shape != "" {
		shapes = nil
		for name := range strings.SplitSeq(p.Shape, ",") {
			s := miniShape{strings.TrimSpace(name), strings.TrimSpace(name)}
			if !slices.Contains(all, s) {
				return nil, fmt.Errorf("shape %q is no mini-transaction; expected some of %v", name, all)
			}
			shapes = append(shapes, s)
		}
	}
	return &plain{table: Table{Rows: p.Keys}, next: func(t *Txn, c *plainClient) {
		s := shapes[c.rng.IntN(len(shapes))]
		t.Name = s.name
		c.draw(t, 2, dist)
		xy := [2]int64{t.Args[0], t.Args[1]}
		t.Args = t.Args[:0]
		for i := 0; i < len(s.ops); i += 2 {
			k := xy[s.ops[i+1]-'x']
			if s.ops[i] == 'w' {
				k = ^k
			}
			t.Args = append(t.Args, k)
		}
	}}, nil
}

// miniDist returns the distribution of a variant's keys: the four of YCSB's generator ([MTC] §V-A).
func miniDist(p Params) Dist {
	switch p.Variant {
	case "zipf":
		return NewZipf(p.Keys, p.Zipf)
	case "hotspot":
		return Hotspot(p.Keys)
	case "exponential":
		return NewExponential(p.Keys)
	}
	return Uniform(p.Keys)
}

// miniShape is a mini-transaction on two keys, x and y: rx reads x, wx writes x.
type miniShape struct{ name, ops string }

// miniShapes are those of the other variants, as often as they are drawn.
var miniShapes = []miniShape{{"R", "rx"}, {"RR", "rxry"}, {"RW", "rxwx"}, {"RW", "rxwx"}, {"RW", "rxwx"},
	{"RRW", "rxrywx"}, {"RRW", "rxrywx"}, {"RRW", "rxrywx"}, {"RRWW", "rxrywxwy"}, {"RRWW", "rxrywxwy"}}

func (s miniShape) String() string { return s.name }

// allShapes returns every mini-transaction ([MTC] Definition 8): one or two reads and at most two writes, each after a
// read of its key. The first key is x.
func allShapes() []miniShape {
	all := []miniShape{{}}
	for i := 0; i < len(all); i++ {
		for _, op := range []string{"rx", "ry", "wx", "wy"} {
			s := all[i].ops
			if op[0] == 'w' && strings.Contains(s, "r"+op[1:]) && strings.Count(s, "w") < 2 ||
				op[0] == 'r' && strings.Count(s, "r") < 2 && (s != "" || op == "rx") {
				all = append(all, miniShape{s + op, s + op})
			}
		}
	}
	return all[1:]
}
