package bench

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"isovet/check"
	"isovet/check/timestamp"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/room"
	"isovet/internal/safego"
	"isovet/level"
)

// The evaluation of [CHRONOS] §V and §VI. The paper's histories come from Dgraph, TiDB and YugabyteDB. Ours come from
// the store in memory at snapshot isolation, with the workload parameters of Table I. The level is CHRONOS's own,
// strong session snapshot isolation.
const chronosLevel = level.SessionSnapshotIsolation

// tableI returns the default workload of Table I.
func tableI(txns int) datasets.Spec {
	return datasets.Spec{Workload: "gt", Variant: "zipf", Txns: txns, Sessions: 50, Keys: 1000, Ops: 15,
		Isolation: "snapshot-isolation", DBTimes: true, Times: datasets.NoTimes, NoAborted: true}
}

// sizes returns the numbers of transactions for the scale.
func (l *Lab) sizes(quick, normal, full []int) []int {
	return [...][]int{QuickScale: quick, DefaultScale: normal, FullScale: full}[l.Scale]
}

// race measures checkers on one workload at several sizes. A checker that has reached the time-out does not run on
// larger sizes.
func (l *Lab) race(ctx context.Context, r *Report, sizes []int, spec func(txns int) datasets.Spec, checkers []string,
) error {
	late := map[string]bool{}
	for _, n := range sizes {
		src, err := l.Source(ctx, spec(n))
		if err != nil {
			return err
		}
		for _, c := range checkers {
			m := Measured{Reason: timeoutBefore}
			if !late[c] {
				if m, err = l.Run(ctx, src, chronosLevel, Run{Checker: c}); err != nil {
					return err
				}
			}
			m.answered(c)
			p := point("time", strconv.Itoa(n), c, &m, checkMS)
			late[c] = late[c] || p.TimedOut
			r.Add(p)
		}
	}
	return nil
}

func chronosFig4(ctx context.Context, lab *Lab, r *Report) error {
	return lab.race(ctx, r, lab.sizes([]int{100, 200}, []int{1000, 2000, 5000, 10_000}, []int{1000, 2000, 5000, 10_000,
		20_000}), tableI, []string{"chronos", "emme-si", "elle-register", "polysi", "viper", "replay"})
}

func chronosFig5a(ctx context.Context, lab *Lab, r *Report) error {
	return lab.race(ctx, r, lab.sizes([]int{200, 400}, []int{10_000, 20_000, 50_000, 100_000}, []int{100_000, 200_000,
		500_000, 1_000_000}), tableI, []string{"chronos", "aion", "emme-si", "elle-register"})
}

func chronosFig5b(ctx context.Context, lab *Lab, r *Report) error {
	lists := func(n int) datasets.Spec {
		return datasets.Spec{Workload: "list-append", Txns: n, Sessions: 50, Isolation: "snapshot-isolation",
			DBTimes: true, Times: datasets.NoTimes, NoAborted: true}
	}
	checkers := []string{"chronos"}
	if _, err := check.ByName("elle"); err == nil {
		checkers = append(checkers, "elle")
	}
	return lab.race(ctx, r, lab.sizes([]int{200}, []int{2000, 5000, 10_000, 20_000}, []int{10_000, 50_000, 100_000}),
		lists, checkers)
}

// parameters calls f with the workloads of Figure 6: Table I's default with one parameter varied at a time.
func (l *Lab) parameters(ctx context.Context, f func(group string, src Source) error) error {
	n := l.Pick(200, 20_000, 100_000)
	txns := []int{n / 4, n / 2, n, 2 * n}
	ops, sessions, keys := []int{5, 15, 30, 50, 100}, []int{10, 20, 50, 100, 200}, []int{200, 500, 1000, 2000, 5000}
	switch l.Scale {
	case FullScale:
		txns = []int{5000, 100_000, 200_000, 500_000, 1_000_000}
	case QuickScale:
		ops, sessions, keys = []int{5, 15}, []int{10, 50}, []int{200, 1000}
	}
	type variation struct {
		group string
		spec  datasets.Spec
	}
	var all []variation
	add := func(group string, change func(*datasets.Spec)) {
		s := tableI(n)
		change(&s)
		all = append(all, variation{group, s})
	}
	for _, x := range txns {
		add(fmt.Sprintf("#txns %d", x), func(s *datasets.Spec) { s.Txns = x })
	}
	for _, x := range ops {
		add(fmt.Sprintf("#ops/txn %d", x), func(s *datasets.Spec) { s.Ops = x })
	}
	for _, x := range sessions {
		add(fmt.Sprintf("#sess %d", x), func(s *datasets.Spec) { s.Sessions = x })
	}
	for _, x := range keys {
		add(fmt.Sprintf("#keys %d", x), func(s *datasets.Spec) { s.Keys = x })
	}
	for _, x := range []struct{ group, variant string }{{"#reads 10 %", "write-heavy"}, {"#reads 30 %", "reads-30"},
		{"#reads 50 %", "zipf"}, {"#reads 70 %", "reads-70"}, {"#reads 90 %", "read-heavy"}, {"dist zipf", "zipf"},
		{"dist uniform", "uniform"},
		{"dist hotspot", "hotspot"}} {
		add(x.group, func(s *datasets.Spec) { s.Variant = x.variant })
	}
	for _, v := range all {
		src, err := l.Source(ctx, v.spec)
		if err != nil {
			return err
		}
		if err := f(v.group, src); err != nil {
			return err
		}
	}
	return nil
}

func chronosFig6(ctx context.Context, lab *Lab, r *Report) error {
	err := lab.parameters(ctx, func(group string, src Source) error {
		m, err := lab.Run(ctx, src, chronosLevel, Run{Checker: "chronos"})
		if err == nil {
			r.Add(point("time", group, "chronos", &m, checkMS))
			err = lab.collected(ctx, r, group, src)
		}
		return err
	})
	if err != nil {
		return err
	}
	r.Note("%s is CHRONOS in a process of its own. The other series run in one process; each shows the least of %d "+
		"runs: %s, or Go's collector called after the given number of transactions. CHRONOS keeps 24 bytes a key, "+
		"and the history stays in use, so there is little to collect.", "chronos", lab.Pick(1, repeats, repeats),
		neverCollected)
	return nil
}

// neverCollected is the paper's gc-∞. Its other strategies are named by everyTxns6 and a number of transactions.
const (
	neverCollected = "no collection"
	everyTxns6     = "collected after every "
)

// collected measures CHRONOS with the garbage collector called after every so many transactions, and never.
func (l *Lab) collected(ctx context.Context, r *Report, group string, src Source) error {
	return l.step(r, group+" collected", func() error {
		l.tell(group + ", with collections")
		h, err := format.Read(ctx, src.Path, format.Options{})
		if err != nil {
			return err
		}
		defer room.Fix(-1)()
		for _, every := range append([]int{0}, l.sizes([]int{50}, []int{1000, 5000}, []int{10_000, 50_000})...) {
			if every >= h.NumTxns()-1 { // it would not be called before the end
				continue
			}
			series := neverCollected
			o := timestamp.Options{Level: chronosLevel}
			if every > 0 {
				o.After, o.Every, series = runtime.GC, every, everyTxns6+strconv.Itoa(every)
			}
			var runs []float64
			for range l.Pick(1, repeats, repeats) {
				runtime.GC()
				start := time.Now()
				if _, err := timestamp.Chronos(ctx, h, o); err != nil {
					return err
				}
				runs = append(runs, milliseconds(time.Since(start)))
			}
			r.Add(decided("time", group, series, runs...))
		}
		return nil
	})
}

func chronosFig7(ctx context.Context, lab *Lab, r *Report) error {
	late := map[string]bool{}
	return lab.parameters(ctx, func(group string, src Source) error {
		for _, c := range []string{"chronos", "emme-si", "elle-register", "polysi", "viper"} {
			if c != "chronos" && (late[c] || !strings.HasPrefix(group, "#txns")) {
				continue
			}
			m, err := lab.Run(ctx, src, chronosLevel, Run{Checker: c})
			if err != nil {
				return err
			}
			m.answered(c)
			p := point("memory", group, c, &m, peakMB)
			late[c] = p.TimedOut
			r.Add(p)
		}
		return nil
	})
}

func chronosFig8(ctx context.Context, lab *Lab, r *Report) error {
	return lab.parameters(ctx, func(group string, src Source) error {
		m, err := lab.Run(ctx, src, chronosLevel, Run{Checker: "chronos"})
		if err != nil {
			return err
		}
		r.Add(point("time", group, "loading", &m, loadMS))
		for _, stage := range []string{"sorting", "checking"} {
			r.Add(point("time", group, stage, &m, stageMS(stage)))
		}
		r.Add(point("time", group, "certifying", &m, func(m *Measured) float64 { return m.Stats.CertifyMS }))
		return nil
	})
}

// held returns the memory of the Go runtime, in MB.
func held() float64 {
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64()-s[1].Value.Uint64()) / 1e6
}

// decided makes a point from one or several measurements in this process.
func decided(metric, group, series string, runs ...float64) Point {
	p := Point{Metric: metric, Group: group, Series: series, Value: median(runs), Verdict: evidence.Holds}
	if len(runs) > 1 {
		p.Runs = runs
	}
	return p
}

func chronosFig10(ctx context.Context, lab *Lab, r *Report) error {
	src, err := lab.Source(ctx, tableI(lab.Pick(500, 100_000, 100_000)))
	if err != nil {
		return err
	}
	debug.FreeOSMemory() // what making the history has left is no part of it
	var stop atomic.Bool
	var sampled []float64
	var g safego.Group
	g.Go(func() {
		for !stop.Load() {
			sampled = append(sampled, held())
			time.Sleep(time.Millisecond)
		}
		sampled = append(sampled, held())
	})
	start := time.Now()
	h, err := format.Read(ctx, src.Path, format.Options{})
	loaded := time.Since(start)
	if err == nil {
		_, err = timestamp.Chronos(ctx, h, timestamp.Options{Level: chronosLevel})
	}
	took := time.Since(start)
	stop.Store(true)
	g.Wait()
	if err != nil {
		return err
	}
	for percent := 0; percent <= 100; percent += 10 {
		r.Add(decided("memory", strconv.Itoa(percent), "chronos", sampled[percent*(len(sampled)-1)/100]))
	}
	r.Add(decided("loaded", "all", "chronos", 100*loaded.Seconds()/took.Seconds()))
	// Again, with collections: what is in use, where garbage is not counted.
	before := live()
	if h, err = format.Read(ctx, src.Path, format.Options{}); err != nil {
		return err
	}
	at := strconv.Itoa(int(100 * loaded.Seconds() / took.Seconds()))
	r.Add(decided("use", at, "in use after a collection", live()-before))
	o, err := timestamp.Chronos(ctx, h, timestamp.Options{Level: chronosLevel})
	if err != nil {
		return err
	}
	r.Add(decided("use", "100", "in use after a collection", live()-before))
	runtime.KeepAlive(h)
	runtime.KeepAlive(o)
	return nil
}

func chronosFig11(ctx context.Context, lab *Lab, r *Report) error {
	b := history.NewBuilder()
	x := b.Key(b.StringValue([]byte("x")))
	for i := range int64(3) {
		if i < 2 {
			b.Write(x, history.IntValue(i+1))
		} else {
			b.Read(x, history.IntValue(1))
		}
		head := history.NewTxnHead()
		head.Session, head.HasSess, head.StartTS, head.CommitTS = i, true, 2*i+1, 2*i+2
		b.EndTxn(head)
	}
	h, err := b.Build()
	if err != nil {
		return err
	}
	src, err := lab.File("figure-11", h)
	if err != nil {
		return err
	}
	for _, c := range []string{"replay", "chronos", "aion", "emme-si"} {
		m, err := lab.Run(ctx, src, chronosLevel, Run{Checker: c})
		if err != nil {
			return err
		}
		p := point("verdict", "Figure 11", c, &m, fixed(0))
		if p.Text = m.Verdict.String(); m.Verdict == evidence.Violated {
			p.Value = 1
		}
		r.Add(p)
	}
	return nil
}
