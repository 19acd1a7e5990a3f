package workload

import "math/rand/v2"

func miniInfo() Info {
	return Info{
		Name: "mini",
		About: "mini-transactions: at most two reads and two writes on one or two keys, every write after a read of " +
			"its key",
		Paper: "MTC (VLDB 2025) Definition 8",
		Variants: []Variant{
			{Name: "default", About: "shapes R, RR, RW, RRW, RRWW; 80 % write; uniform keys"},
			{Name: "zipf", About: "the same on Zipf keys"},
			{Name: "hotspot", About: "the same, 80 % of the keys drawn from 20 % of them"},
			{Name: "exponential", About: "the same, 95 % of the keys drawn from the first 86 %, each key rarer than " +
				"the one before it"},
		},
		Keys: 100,
		Zipf: 0.99,
		new: func(p Params) (Workload, error) {
			if err := needKeys(p, 2); err != nil {
				return nil, err
			}
			return &mini{keys: p.Keys, dist: miniDist(p)}, nil
		},
	}
}

// miniDist is the distribution of a variant's keys, [MTC] §V-A: the four of YCSB's generator.
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
	keys int
	dist Dist
}

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
	t.Args = c.set.draw(t.Args[:0], 2, c.w.dist, c.rng)
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
