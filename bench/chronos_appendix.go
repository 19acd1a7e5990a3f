package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/room"
	"isovet/level"
)

// Figures 9 and 24 of CHRONOS, and 17 to 21 and 25 of AION. All but the first are in the appendix of their technical
// report.

// answered turns the result of a checker that can only refute into a verdict if it finds nothing: it has finished, so
// that its time and memory can be compared.
func (m *Measured) answered(checker string) {
	if checker == "elle-register" && m.Verdict == evidence.Unknown && m.Fault == "" &&
		!strings.HasPrefix(m.Reason, "timeout") {
		m.Verdict = evidence.Holds
	}
}

// collected9 are the growths of memory, in percent, after which the garbage collector runs: the axis of Figure 9, most
// frequent first.
var collected9 = []int{5, 10, 25, 50, 100, 200, 400}

// chronosFig9 varies how often Go's garbage collector runs. The paper varies how often it calls Java's.
func chronosFig9(ctx context.Context, lab *Lab, r *Report) error {
	src, err := lab.Source(ctx, tableI(lab.Pick(500, 100_000, 1_000_000)))
	if err != nil {
		return err
	}
	spent := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/gc/scan/heap:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/frees:bytes"}}
	for _, percent := range collected9 {
		err := lab.step(r, strconv.Itoa(percent), func() error {
			lab.tell(fmt.Sprintf("collections after %d %%", percent))
			defer room.Fix(percent)()
			runtime.GC() // the counter is brought up to date by a collection
			metrics.Read(spent)
			before, cycles, freed := spent[0].Value.Float64(), spent[1].Value.Uint64(), spent[4].Value.Uint64()
			start := time.Now()
			h, err := format.Read(ctx, src.Path, format.Options{})
			if err != nil {
				return err
			}
			loaded := time.Now()
			if _, err := timestamp.Chronos(ctx, h, timestamp.Options{Level: chronosLevel}); err != nil {
				return err
			}
			checked := time.Now()
			runtime.GC()
			metrics.Read(spent)
			g := strconv.Itoa(percent) + " %"
			r.Add(decided("time", g, "loading", milliseconds(loaded.Sub(start))))
			r.Add(decided("time", g, "checking", milliseconds(checked.Sub(loaded))))
			r.Add(decided("time", g, "garbage collecting", 1e3*(spent[0].Value.Float64()-before)))
			cycles = spent[1].Value.Uint64() - cycles
			r.Add(decided("cycles", g, "collections", float64(cycles)))
			r.Add(decided("released", g, "a collection", float64(spent[4].Value.Uint64()-freed)/1e6/float64(cycles)))
			r.Add(decided("scanned", g, "of the heap", 100*float64(spent[2].Value.Uint64())/
				float64(max(spent[3].Value.Uint64(), 1))))
			runtime.KeepAlive(h)
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chronosFig24 runs CHRONOS on other workloads than the default one.
func chronosFig24(ctx context.Context, lab *Lab, r *Report) error {
	for _, w := range []struct {
		name, workload string
		keys           int
	}{{"default", "gt", 1000}, {"RUBiS", "rubis", 200}, {"Twitter", "ctwitter", 500}, {"TPC-C", "tpcc", 0}} {
		for _, n := range lab.sizes([]int{200}, []int{10_000, 50_000}, []int{100_000, 200_000, 500_000}) {
			src, err := lab.Source(ctx, datasets.Spec{Workload: w.workload, Txns: n, Sessions: 50, Keys: w.keys,
				Isolation: "snapshot-isolation", DBTimes: true, Times: datasets.NoTimes, NoAborted: true})
			if err != nil {
				return err
			}
			m, err := lab.Run(ctx, src, chronosLevel, Run{Checker: "chronos"})
			if err != nil {
				return err
			}
			g := fmt.Sprintf("%s, %d", w.name, n)
			r.Add(point("time", g, "loading", &m, loadMS))
			for _, stage := range []string{"sorting", "checking"} {
				r.Add(point("time", g, stage, &m, stageMS(stage)))
			}
		}
	}
	return nil
}

// aionFig17 measures Figures 17 to 19: how many transactions flip, and how often.
func aionFig17(ctx context.Context, lab *Lab, r *Report) error {
	for _, d := range delays {
		g := d.String()
		err := lab.flips(ctx, r, g, paperRate, d, func(a *timestamp.Aion) {
			flip, few := flipped(a)
			r.Add(decided("txns", g, "transactions", flip))
			r.Add(decided("pairs", g, "pairs", float64(a.Stats().FlipReads)))
			r.Add(decided("few", g, "transactions", few))
		})
		if err != nil {
			return err
		}
	}
	r.Note("%d transactions commit a second.", paperRate)
	r.Note(oneByOne)
	return nil
}

// aionFig20 measures Figures 20 and 21: how long wrong verdicts last before they are corrected, for several delays. A
// batch arrives as a whole, its transactions in the order of their delays; aion/online-rectified compares this with
// the other way.
func aionFig20(ctx context.Context, lab *Lab, r *Report) error {
	txns, batch := lab.Pick(600, 10_000, 10_000), lab.Pick(50, batched, batched)
	runs, err := lab.together(ctx, len(delays), txns, func(i int) (head, []arrival, error) {
		first, lines, err := lab.sent(ctx, tableI(txns), batch, paperRate, delays[i].mu, delays[i].sigma)
		atOnce(lines, batch)
		return first, lines, err
	})
	if err != nil {
		return err
	}
	for i, d := range delays {
		addRectified(r, d.String(), runs[i].last)
		r.Add(decided("wrong", "all", d.String(), runs[i].last["violations_total"]))
	}
	r.Note("%d transactions, of which %d commit a second; batches of %d arrive as a whole, with their transactions "+
		"in the order of their delays; verdicts are final %v later, by the clock. Six runs at a time.", txns,
		paperRate, batch, lab.patience())
	return nil
}

// aionFig25 measures Figure 25: serializability of a snapshot-isolated history and of a serializable one.
func aionFig25(ctx context.Context, lab *Lab, r *Report) error {
	for _, n := range lab.sizes([]int{500}, []int{50_000, 100_000}, []int{500_000}) {
		g := strconv.Itoa(n)
		for _, c := range []struct{ isolation, series string }{{"serializable", "serializable history"},
			{"snapshot-isolation", "snapshot-isolated history"}} {
			err := lab.step(r, g+" "+c.series, func() error {
				spec := tableI(n)
				spec.Sessions, spec.Ops, spec.Isolation, spec.Variant = 24, 8, c.isolation, "read-heavy"
				s, err := lab.arrive(ctx, spec, 25_000, 100, 10)
				if err != nil {
					return err
				}
				lab.tell(c.series)
				var a *timestamp.Aion
				violations, runs := 0, []float64(nil)
				for range lab.Pick(1, repeats, repeats) {
					computed := room.CPU()
					if a, violations, err = s.run(ctx, level.SessionSerializable, 256, nil); err != nil {
						return err
					}
					runs = append(runs, perSecond(n, room.CPU()-computed))
				}
				r.Add(decided("rate", g, c.series, runs...))
				if c.isolation == "serializable" {
					return nil
				}
				late := int(a.Stats().Late)
				o, err := timestamp.Chronos(ctx, s.h, timestamp.Options{Level: level.SessionSerializable})
				if err != nil {
					return err
				}
				r.Add(decided("violations", g, "aion", float64(violations-late)))
				r.Add(decided("violations", g, "chronos", float64(len(o.Violations))))
				return nil
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}
