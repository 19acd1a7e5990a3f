package bench

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"isovet/check/mechanism"
	"isovet/datasets"
	"isovet/history"
	"isovet/internal/heap"
	"isovet/internal/plural"
	"isovet/internal/room"
	"isovet/internal/safego"
	"isovet/internal/slice"
	"isovet/level"
)

// The evaluation of [Leopard] §IV-B and §VI. The paper's histories come from PostgreSQL and OceanBase. Ours come from
// the store in memory, except for Figure 11, which is about databases (leopard_throughput.go). Figures 10 and 13
// compare only the mechanisms: with the search for an order that the checker adds by default, they would compare that
// search.

func (l *Lab) generated(ctx context.Context, spec datasets.Spec) (*history.History, error) {
	spec.Seed = l.Seed
	if l.asked != nil {
		l.asked(&spec)
	}
	res, _, err := l.generate(ctx, spec)
	if err != nil {
		return nil, err
	}
	return res.History, nil
}

// mirrored verifies a history of the store under the store's own profile; a violation would be a fault of isovet. It
// returns the processor time, the least of a few runs.
func (l *Lab) mirrored(ctx context.Context, r *Report, h *history.History, keep bool) (*mechanism.Report, float64,
	error) {
	p, err := mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation)
	if err != nil {
		return nil, 0, err
	}
	var rep *mechanism.Report
	best := 0.0
	for i := range l.Pick(1, 3, 3) {
		start, computed := time.Now(), room.CPU()
		if rep, err = mechanism.Verify(ctx, h, mechanism.Options{Profile: *p, KeepEdges: keep}); err != nil {
			return nil, 0, err
		}
		ms := milliseconds(room.CPU() - computed)
		l.wall, l.cpu = l.wall+milliseconds(time.Since(start)), l.cpu+ms
		if i == 0 || ms < best {
			best = ms
		}
	}
	if n := rep.Total(); n > 0 {
		r.Add(Point{Metric: r.fig.Metrics[0].Key, Group: h.Meta.Name, Series: "leopard", Fault: true,
			Reason: fmt.Sprintf("%s under %s", plural.Of(n, "false alarm"), p.Name())})
	}
	return rep, best, nil
}

// overlap returns the percentage of dependencies whose operations overlap.
func overlap(rep *mechanism.Report) float64 {
	all, over := rep.Undecided, 0
	for k := range rep.Overlaps {
		all += rep.Deduced(k)
		over += rep.Overlaps[k]
	}
	return 100 * float64(over) / float64(max(1, all))
}

func leopardFig3(ctx context.Context, lab *Lab, r *Report) error {
	n := lab.Pick(2_000, 50_000, 200_000)
	keys := lab.Pick(10_000, 100_000, 1_000_000)
	alone := func(group string, spec datasets.Spec) error {
		spec.Workload, spec.Txns, spec.Keys, spec.Isolation = "ycsb", n, keys, "serializable-snapshot"
		h, err := lab.generated(ctx, spec)
		if err != nil {
			return err
		}
		rep, _, err := lab.mirrored(ctx, r, h, false)
		if err != nil {
			return err
		}
		r.Add(decided("overlap", group, "in-memory store", overlap(rep)))
		c := datasets.Spec{Workload: "ycsb", Variant: spec.Variant, Txns: lab.Pick(100, 3000, 100_000),
			Keys: lab.Pick(1000, 20_000, 1_000_000), Sessions: cmp.Or(spec.Sessions, 24), Zipf: spec.Zipf}
		rep, err = lab.overlaps(ctx, r, Traffic{Spec: c})
		if err == nil && rep != nil {
			r.Add(decided("overlap", group, onPostgres, overlap(rep)))
		}
		return err
	}
	one := func(group string, spec datasets.Spec) error {
		return lab.step(r, group, func() error { return alone(group, spec) })
	}
	return measured(one,
		varied("skew %g", func(z float64) datasets.Spec { return datasets.Spec{Variant: "A", Zipf: z} }, 0.2, 0.6,
			0.99),
		varied("%d threads", func(s int) datasets.Spec { return datasets.Spec{Variant: "A", Sessions: s} }, 8, 24, 64),
		[]group{{"95 % reads", datasets.Spec{Variant: "B"}}, {"50 % reads", datasets.Spec{Variant: "A"}},
			{"read-modify-writes", datasets.Spec{Variant: "F"}}})
}

// group is a group of a figure, and the histories that it is about.
type group struct {
	name string
	spec datasets.Spec
}

// varied returns a group for each value of a parameter.
func varied[V any](name string, spec func(V) datasets.Spec, values ...V) []group {
	return slice.Map(values, func(v V) group { return group{fmt.Sprintf(name, v), spec(v)} })
}

// measured measures one group after the other.
func measured(measure func(group string, spec datasets.Spec) error, groups ...[]group) error {
	return slice.Each(slices.Concat(groups...), func(g group) error { return measure(g.name, g.spec) })
}

func leopardFig9(ctx context.Context, lab *Lab, r *Report) error {
	sizes := []int{lab.Pick(500, 20_000, 100_000), lab.Pick(1_000, 50_000, 400_000), lab.Pick(2_000, 100_000,
		1_000_000)}
	var last [3]float64
	for _, w := range []struct{ name, workload, variant string }{{"BlindW-RW+", "blindw", "RW+"},
		{"SmallBank", "smallbank", ""}, {"TPC-C", "tpcc", ""}} {
		for _, n := range sizes {
			err := lab.step(r, fmt.Sprintf("%s, %d", w.name, n), func() error {
				h, err := lab.generated(ctx, datasets.Spec{Workload: w.workload, Variant: w.variant, Txns: n})
				if err != nil {
					return err
				}
				lanes, err := mechanism.Traces(h)
				if err != nil {
					return err
				}
				all := 0
				for _, l := range lanes {
					all += len(l)
				}
				group := strconv.Itoa(n)
				for i, p := range []struct {
					name  string
					batch int
				}{{"two-level pipeline", 0}, {"without batches", 1}} {
					start := time.Now()
					peak, err := dispatch(ctx, lanes, p.batch, all)
					if err != nil {
						return err
					}
					last[i] = time.Since(start).Seconds() * 1e3
					r.Add(decided("time", group, p.name+", "+w.name, last[i]))
					r.Add(decided("buffered", group, p.name+", "+w.name, float64(peak)))
				}
				start := time.Now()
				if err := dispatchNaive(ctx, lanes); err != nil {
					return err
				}
				last[2] = time.Since(start).Seconds() * 1e3
				r.Add(decided("time", group, "one heap, "+w.name, last[2]))
				r.Add(decided("buffered", group, "one heap, "+w.name, float64(all)))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// dispatch pushes all traces through a pipeline and returns the greatest number that waited in it.
func dispatch(ctx context.Context, lanes [][]mechanism.Trace, batch, want int) (peak int, err error) {
	p := mechanism.NewPipeline(len(lanes), mechanism.PipelineOptions{Batch: batch})
	var clients safego.Group
	for i := range lanes {
		clients.Go(func() {
			c := p.Client(i)
			for j := range lanes[i] {
				if !c.Push(lanes[i][j]) {
					return
				}
			}
			c.Close()
		})
	}
	n, at := 0, int64(-mechanism.Forever)
	err = p.Run(ctx, func(_ int, traces []mechanism.Trace) {
		n += len(traces)
		if traces[0].Bef < at {
			panic("traces come out of order")
		}
		at = traces[len(traces)-1].Bef
	})
	clients.Wait()
	if err == nil && n != want {
		err = fmt.Errorf("%d of %d traces were dispatched", n, want)
	}
	return p.Peak(), err
}

// dispatchNaive is the naive pipeline: one heap of all traces, all of them pushed before the first is taken.
func dispatchNaive(ctx context.Context, lanes [][]mechanism.Trace) error {
	var all []mechanism.Trace
	var h heap.Heap[int64, int32] // of places in all
	for _, l := range lanes {
		for _, t := range l {
			h.Push(t.Bef, int32(len(all)))
			all = append(all, t)
		}
	}
	for at := int64(-mechanism.Forever); h.Len() > 0; {
		_, i := h.Pop()
		if all[i].Bef < at {
			panic("traces come out of order")
		}
		at = all[i].Bef
		if h.Len()&0xffff == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// searchCycles is the naive certifier: it adds the dependencies, and after every hundred transactions with new ones
// searches the whole graph for a cycle. It returns the time, and whether it finished within the limit.
func searchCycles(ctx context.Context, edges []mechanism.Dependency, txns int, limit time.Duration) (ms float64,
	ok bool) {
	start, computed := time.Now(), room.CPU()
	next := make([][]uint32, txns)
	state := make([]uint8, txns) // 0: not seen, 1: on the path, 2: done
	at := make([]int, txns)
	var path []uint32
	search := func() (cyclic bool) {
		clear(state)
		for root := range uint32(txns) {
			if state[root] != 0 || len(next[root]) == 0 {
				continue
			}
			path = append(path[:0], root)
			state[root], at[root] = 1, 0
			for len(path) > 0 {
				u := path[len(path)-1]
				if at[u] == len(next[u]) {
					state[u] = 2
					path = path[:len(path)-1]
					continue
				}
				v := next[u][at[u]]
				at[u]++
				switch state[v] {
				case 0:
					state[v], at[v] = 1, 0
					path = append(path, v)
				case 1:
					return true
				}
			}
		}
		return false
	}
	seen := 0
	for i, e := range edges {
		next[e.From] = append(next[e.From], uint32(e.To))
		if i > 0 && e.To == edges[i-1].To {
			continue
		}
		if seen++; seen%100 == 0 && (search() || time.Since(start) > limit || ctx.Err() != nil) {
			return 0, false
		}
	}
	ok = !search()
	return milliseconds(room.CPU() - computed), ok
}

func leopardFig10(ctx context.Context, lab *Lab, r *Report) error {
	base := lab.Pick(500, 8_000, 16_000)
	alone := func(group string, spec datasets.Spec) error {
		spec.Workload, spec.Variant, spec.Keys = "blindw", "RW+", 2_000
		h, err := lab.generated(ctx, spec)
		if err != nil {
			return err
		}
		_, ms, err := lab.mirrored(ctx, r, h, false)
		if err != nil {
			return err
		}
		r.Add(decided("time", group, "leopard", ms))
		rep, built, err := lab.mirrored(ctx, r, h, true)
		if err != nil {
			return err
		}
		p := Point{Metric: "time", Group: group, Series: "cycle search", TimedOut: true, Reason: "timeout",
			Bound: milliseconds(lab.Timeout)}
		q := p
		q.Series = "graph and cycle search"
		if ms, ok := searchCycles(ctx, rep.Edges, h.NumTxns(), lab.Timeout); ok {
			p = decided("time", group, "cycle search", ms)
			q = decided("time", group, q.Series, built+ms)
		}
		r.Add(p)
		r.Add(q)
		r.Add(decided("edges", group, "deduced", float64(len(rep.Edges))))
		return ctx.Err()
	}
	one := func(group string, spec datasets.Spec) error {
		return lab.step(r, group, func() error { return alone(group, spec) })
	}
	return measured(one,
		varied("%d transactions", func(n int) datasets.Spec { return datasets.Spec{Txns: n} }, base/4, base/2, base,
			2*base),
		varied("%d threads", func(s int) datasets.Spec { return datasets.Spec{Txns: base, Sessions: s} }, 4, 8, 16, 32),
		varied("length %d", func(k int) datasets.Spec { return datasets.Spec{Txns: base, Ops: k} }, 4, 8, 12, 16))
}

func leopardFig12(ctx context.Context, lab *Lab, r *Report) error {
	n := lab.Pick(1_000, 50_000, 500_000)
	for _, w := range []struct{ name, workload, variant string }{{"TPC-C", "tpcc", ""}, {"SmallBank", "smallbank", ""},
		{"BlindW-W", "blindw", "W"}, {"BlindW-RW", "blindw", "RW"}} {
		err := lab.step(r, w.name, func() error {
			h, err := lab.generated(ctx, datasets.Spec{Workload: w.workload, Variant: w.variant, Txns: n,
				Isolation: "serializable-snapshot"})
			if err != nil {
				return err
			}
			rep, _, err := lab.mirrored(ctx, r, h, false)
			if err != nil {
				return err
			}
			all := rep.Undecided + rep.Deduced(0) + rep.Deduced(1) + rep.Deduced(2)
			left := 100 * float64(rep.Undecided) / float64(max(1, all))
			r.Add(decided("overlap", w.name, "in-memory store", overlap(rep)))
			r.Add(decided("left", w.name, "in-memory store", left))
			c := datasets.Spec{Workload: w.workload, Variant: w.variant, Txns: lab.Pick(100, 3000, 100_000),
				Sessions: 24, Keys: lab.Pick(30, 0, 0)}
			if w.workload == "tpcc" {
				c.Txns /= 5
			}
			if rep, err = lab.overlaps(ctx, r, Traffic{Spec: c}); err != nil {
				return err
			}
			if rep != nil {
				all = rep.Undecided + rep.Deduced(0) + rep.Deduced(1) + rep.Deduced(2)
				r.Add(decided("overlap", w.name, onPostgres, overlap(rep)))
				r.Add(decided("left", w.name, onPostgres, 100*float64(rep.Undecided)/float64(max(1, all))))
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// fenceEvery is the number of transactions of a session between two fences ([Leopard] §VI-E).
const fenceEvery = 20

func leopardFig13(ctx context.Context, lab *Lab, r *Report) error {
	base := lab.Pick(500, 20_000, 20_000)
	runs := []struct {
		name  string
		run   Run
		fence int
	}{
		{"leopard", Run{Checker: "leopard", MechanismsOnly: true}, 0}, {"cobra", Run{Checker: "cobra-rounds"},
			fenceEvery},
		{"cobra" + byPurdom, rival("cobra-rounds" + byPurdom), fenceEvery},
		{"cobra without GC", Run{Checker: "cobra"}, 0}, {"cobra without GC" + byPurdom, rival("cobra" + byPurdom), 0},
		{"replay", Run{Checker: "replay"}, 0},
	}
	late := map[string]bool{}
	one := func(group string, spec datasets.Spec, grows bool) error {
		spec.Workload, spec.Variant, spec.Keys, spec.Isolation = "blindw", "RW", 2_000, "serializable-snapshot"
		for _, c := range runs {
			spec.FenceEvery = c.fence
			src, err := lab.Source(ctx, spec)
			if err != nil {
				return err
			}
			m := Measured{Reason: timeoutBefore}
			if !grows || !late[c.name] {
				if m, err = lab.Run(ctx, src, level.SessionSerializable, c.run); err != nil {
					return err
				}
			}
			if c.run.MechanismsOnly {
				m.refutesNothing()
			}
			t, mem := point("time", group, c.name, &m, checkMS), point("memory", group, c.name, &m, peakMB)
			late[c.name] = late[c.name] || grows && t.TimedOut
			r.Add(t)
			r.Add(mem)
		}
		return nil
	}
	for _, n := range []int{base / 4, base / 2, base} {
		if err := one(fmt.Sprintf("%d transactions", n), datasets.Spec{Txns: n}, true); err != nil {
			return err
		}
	}
	for _, s := range []int{8, 16, 32} {
		if err := one(fmt.Sprintf("%d threads", s), datasets.Spec{Txns: base, Sessions: s}, false); err != nil {
			return err
		}
	}
	r.Note("Cobra's histories have a fence after every %d transactions of a session, the other histories have none. "+
		"If Leopard finds no violation, it has proved nothing; Cobra has proved validity.", fenceEvery)
	r.Note(purdomNote)
	return nil
}
