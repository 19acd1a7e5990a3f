package workload

import "math/rand/v2"

func miniInfo() Info {
	return Info{
		Name:     "mini",
		About:    "mini-transactions: at most two reads and two writes on one or two keys, every write after a read of its key",
		Paper:    "MTC (VLDB 2025) Definition 8",
		Variants: []Variant{{Name: "default", About: "shapes R, RR, RW, RRW, RRWW; 80 % write"}},
		Keys:     100,
		new: func(p Params) (Workload, error) {
			return &mini{keys: p.Keys}, needKeys(p, 2)
		},
	}
}

type mini struct{ keys int }

func (w *mini) Tables() []Table { return []Table{{Rows: w.keys}} }

func (w *mini) Client(_ int, rng *rand.Rand) Client { return &miniClient{w: w, rng: rng} }

type miniClient struct {
	w   *mini
	rng *rand.Rand
	set distinct
}

var miniShapes = [...]string{"R", "RR", "RW", "RW", "RW", "RRW", "RRW", "RRW", "RRWW", "RRWW"}

func (c *miniClient) Next(t *Txn) {
	t.Name = miniShapes[c.rng.IntN(len(miniShapes))]
	t.Args = c.set.draw(t.Args[:0], 2, Uniform(c.w.keys), c.rng)
}

func (c *miniClient) Step(t *Txn) {
	if t.Stage > 0 {
		return
	}
	k := 0
	for i, s := range t.Name {
		if s == 'R' {
			t.Read(Key(t.Args[i]))
		} else {
			t.Write(Key(t.Args[k]), 0)
			k++
		}
	}
}
