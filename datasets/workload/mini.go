package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

func newMini(p Params) (Workload, error) {
	if err := needKeys(p, 2); err != nil {
		return nil, err
	}
	w := &mini{keys: p.Keys, dist: miniDist(p), shapes: miniShapes}
	if all := allShapes(); p.Shape == "all" || p.Shape == "" && p.Variant == "shapes" {
		w.shapes = all
	} else if p.Shape != "" {
		w.shapes = nil
		for name := range strings.SplitSeq(p.Shape, ",") {
			s := miniShape{strings.TrimSpace(name), strings.TrimSpace(name)}
			if !slices.Contains(all, s) {
				return nil, fmt.Errorf("shape %q is no mini-transaction; expected some of %v", name, all)
			}
			w.shapes = append(w.shapes, s)
		}
	}
	return w, nil
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

type mini struct {
	keys   int
	dist   Dist
	shapes []miniShape
}

func (w *mini) Tables() []Table { return []Table{{Rows: w.keys}} }

func (w *mini) Client(_ int, rng *rand.Rand) Client { return &miniClient{w: w, rng: rng} }

type miniClient struct {
	w   *mini
	rng *rand.Rand
	set distinct
	ops string // of its transaction
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

func (c *miniClient) Next(t *Txn) {
	s := c.w.shapes[c.rng.IntN(len(c.w.shapes))]
	t.Name, c.ops = s.name, s.ops
	t.Args = c.set.draw(t.Args[:0], 2, c.w.dist, c.rng)
}

func (c *miniClient) Step(t *Txn) {
	if t.Stage > 0 {
		return
	}
	for i := 0; i < len(c.ops); i += 2 {
		k := Key(t.Args[c.ops[i+1]-'x'])
		if c.ops[i] == 'r' {
			t.Read(k)
		} else {
			t.Write(k, 0)
		}
	}
}
