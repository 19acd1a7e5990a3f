package workload

import "math/rand/v2"

func newMini(p Params) (Workload, error) {
	if err := needKeys(p, 2); err != nil {
		return nil, err
	}
	return &mini{keys: p.Keys, dist: miniDist(p)}, nil
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
