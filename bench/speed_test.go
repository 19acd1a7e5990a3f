package bench

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"isovet/check"
	"isovet/datasets"
	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/test/must"
	"isovet/level"
)

// speedCase is a history and questions about it.
type speedCase struct {
	name    string
	spec    datasets.Spec
	text    bool // read as JSON lines; else from the native file
	levels  []level.Level
	checker string // "": the automatic choice
	want    evidence.Verdict
}

// speed measures a case: the whole program in a process of its own, loading and certifying included. It reports the
// medians: the process's CPU time and peak memory, and the elapsed time of loading, checking and certifying.
func (c *speedCase) speed(all *testing.B) {
	c.spec.Seed = cmp.Or(c.spec.Seed, 1)
	if c.want == evidence.Unknown {
		c.want = evidence.Holds
	}
	path := ""
	for _, at := range c.levels {
		checker := cmp.Or(c.checker, check.AutoName)
		all.Run("data="+c.name+"/level="+at.String()+"/checker="+checker, func(b *testing.B) {
			if path == "" {
				path = c.write(all)
			}
			var runs []Measured
			for b.Loop() {
				m, err := runChild(b.Context(), self(b), Run{Checker: checker, Level: at, History: path,
					Timeout: 2 * time.Minute})
				if err != nil || m.Verdict != c.want {
					b.Fatalf("%v (%s%s), %v", m.Verdict, m.Reason, m.Fault, err)
				}
				runs = append(runs, m)
			}
			for unit, of := range map[string]func(m *Measured) float64{
				"cpu-s":     func(m *Measured) float64 { return m.CPUMS / 1e3 },
				"peak-MB":   func(m *Measured) float64 { return m.Stats.PeakMB },
				"load-s":    func(m *Measured) float64 { return m.Stats.LoadMS / 1e3 },
				"check-s":   func(m *Measured) float64 { return m.Stats.CheckMS / 1e3 },
				"certify-s": func(m *Measured) float64 { return m.Stats.CertifyMS / 1e3 },
			} {
				slices.SortFunc(runs, func(x, y Measured) int { return cmp.Compare(of(&x), of(&y)) })
				b.ReportMetric(of(&runs[len(runs)/2]), unit)
			}
		})
	}
}

// write writes the case's history where runs find it.
func (c *speedCase) write(b *testing.B) string {
	h := must.Get(datasets.Generate(b.Context(), c.spec))(b)
	name := "h.ivh"
	if c.text {
		name = "h.jsonl"
	}
	path := filepath.Join(b.TempDir(), name)
	must.OK(b, format.Write(path, h, "", false))
	return path
}

// BenchmarkShapes has every shape of history that a checker here, or another one, once found hard. The mixes are like
// VeriStrong's histories BL-10k, WH-10k and HD-10k, which PostgreSQL answered: 25 sessions of 400 transactions of 8
// operations on 5,000 keys, many of the writes blind. docs/performance.md has the bounds, and what was measured.
func BenchmarkShapes(b *testing.B) {
	mix := func(variant string) datasets.Spec {
		return datasets.Spec{Workload: "mix", Variant: variant, Txns: 10_000, Sessions: 25, Keys: 5000,
			Times: datasets.NoTimes}
	}
	untimed := func(workload string, txns int) datasets.Spec {
		return datasets.Spec{Workload: workload, Txns: txns, Times: datasets.NoTimes}
	}
	booking := datasets.Spec{Workload: "booking", Txns: 50_000, Sessions: 24, Keys: 20_000, Seed: 832996}
	bookingUntimed := booking
	bookingUntimed.Times = datasets.NoTimes
	ser := []level.Level{level.Serializable}
	session := []level.Level{level.SessionSerializable}
	si := []level.Level{level.SessionSnapshotIsolation}
	both := []level.Level{level.SessionSerializable, level.SessionSnapshotIsolation}
	for _, c := range []speedCase{
		{name: "mix-blind-10k", spec: mix("blind"), text: true, levels: both},
		{name: "mix-blind-heavy-10k", spec: mix("blind-heavy"), text: true, levels: both},
		{name: "mix-duplicates-10k", spec: mix("duplicates"), text: true, levels: both},
		{name: "blindw-100k", spec: untimed("blindw", 100_000), levels: session, checker: "vbox"},
		{name: "rmw-100k", spec: untimed("rmw", 100_000), levels: session, checker: "vbox"},
		{name: "longfork-100k", spec: untimed("longfork", 100_000), levels: session, checker: "vbox"},
		{name: "contended-100k", spec: untimed("contended", 100_000), levels: session, checker: "vbox"},
		{name: "blindw-1M", spec: untimed("blindw", 1_000_000), levels: session, checker: "vbox"},
		{name: "blindw-1M", spec: untimed("blindw", 1_000_000), levels: both},
		{name: "contended-100k", spec: untimed("contended", 100_000), levels: si},
		{name: "blindw-pred-100k", levels: ser, text: true,
			spec: datasets.Spec{Workload: "blindw-pred", Txns: 100_000}},
		{name: "blindw-pred-10k-half-of-the-old-unknown", levels: ser, text: true,
			spec: datasets.Spec{Workload: "blindw-pred", Txns: 10_000, UnknownOld: 0.5}},
		{name: "tpcc-150k-2%-of-outcomes-unknown", levels: []level.Level{level.Serializable, level.StrictSerializable},
			spec: datasets.Spec{Workload: "tpcc", Txns: 150_000, Sessions: 4, Keys: 50, Seed: 145508,
				UnknownRate: 0.02}},
		{name: "tpcc-20k-at-snapshot-isolation", levels: ser, want: evidence.Violated,
			spec: datasets.Spec{Workload: "tpcc", Txns: 20_000, Sessions: 100, Keys: 20_000, Seed: 818924,
				Isolation: "snapshot-isolation"}},
		{name: "booking-50k", spec: booking, levels: []level.Level{level.ReadCommitted, level.SessionSerializable,
			level.StrictSerializable, level.SessionSnapshotIsolation}},
		{name: "booking-50k-without-times", spec: bookingUntimed, levels: []level.Level{level.ReadCommitted,
			level.SessionSerializable, level.SessionSnapshotIsolation}},
	} {
		c.speed(b)
	}
}

// BenchmarkStandard has the six workloads of [Vbox] at serializable.
func BenchmarkStandard(b *testing.B) {
	for _, w := range vboxWorkloads() {
		txns := 100_000
		if w.workload == "blindw-pred" {
			txns = 10_000 // whose transactions have a hundred rows
		}
		for _, checker := range []string{"replay", "vbox"} {
			c := speedCase{name: w.name, spec: datasets.Spec{Workload: w.workload, Variant: w.variant, Txns: txns},
				text: true, levels: []level.Level{level.Serializable}, checker: checker}
			c.speed(b)
		}
	}
}

// BenchmarkGrowth has the checkers that claim to be near-linear on histories of three sizes. A step of ten times the
// transactions must not take more than 12 times as long (check-s).
func BenchmarkGrowth(b *testing.B) {
	timed := datasets.Spec{Workload: "blindw", Times: datasets.TxnTimes}
	untimed := datasets.Spec{Workload: "blindw", Times: datasets.NoTimes}
	stamped := datasets.Spec{Workload: "blindw", Times: datasets.TxnTimes, DBTimes: true}
	mini := datasets.Spec{Workload: "mini", Times: datasets.TxnTimes}
	lists := datasets.Spec{Workload: "list-append", Variant: "short", Times: datasets.TxnTimes}
	for _, s := range []struct {
		data, checker string
		spec          datasets.Spec
		levels        []level.Level
	}{
		{"blindw-without-times", "replay", untimed, []level.Level{level.SessionSerializable,
			level.SessionSnapshotIsolation}},
		{"blindw", "replay", timed, []level.Level{level.StrictSerializable, level.StrictSnapshotIsolation}},
		{"blindw-without-times", "vbox", untimed, []level.Level{level.SessionSerializable}},
		{"blindw", "vbox", timed, []level.Level{level.StrictSerializable}},
		{"blindw-without-times", "weak", untimed, []level.Level{level.ReadCommitted, level.ReadAtomic, level.Causal}},
		{"mini", "mtc", mini, []level.Level{level.StrictSerializable, level.StrictSnapshotIsolation}},
		{"blindw-timestamps", "chronos", stamped, []level.Level{level.SessionSnapshotIsolation}},
		{"blindw-timestamps", "aion", stamped, []level.Level{level.SessionSnapshotIsolation}},
		{"list-append", "bc", lists, []level.Level{level.StrictSnapshotIsolation}},
		{"list-append", "elle", lists, []level.Level{level.StrictSerializable}},
		{"lwt", "lwt", datasets.Spec{Workload: "lwt"}, []level.Level{level.Linearizable}},
	} {
		for _, size := range []struct {
			name string
			txns int
		}{{"10k", 10_000}, {"100k", 100_000}, {"1M", 1_000_000}} {
			c := speedCase{name: s.data + "/txns=" + size.name, spec: s.spec, levels: s.levels, checker: s.checker}
			c.spec.Txns = size.txns
			c.speed(b)
		}
	}
}
