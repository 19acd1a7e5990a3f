package seen

import (
	"cmp"
	"maps"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"isovet/watch"
)

// Prefix begins the names of all metrics of a watch.
const Prefix = "isovet_watch_"

// Build says which program watches.
type Build struct{ Version, Commit, Go string }

// Registry returns the metrics of a watch, of the process and of Go's runtime. Totals count all runs in the folder.
// extra, if not nil, adds metrics.
func Registry(m *watch.Metrics, b Build, extra prometheus.Collector) *prometheus.Registry {
	r := prometheus.NewRegistry()
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&collector{m: m, build: b, now: time.Now})
	if extra != nil {
		r.MustRegister(extra)
	}
	return r
}

// collector returns the metrics of the latest snapshot.
type collector struct {
	m     *watch.Metrics
	build Build
	now   func() time.Time
}

// metric is a metric that every watch has. The value NaN leaves it out.
type metric struct {
	name  string
	kind  prometheus.ValueType
	value float64
	help  string
}

// always returns the metrics of a snapshot that every watch has.
func always(s *watch.Snapshot, now time.Time) []metric {
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	age := math.NaN()
	if !s.CheckpointAt.IsZero() {
		age = since(s.CheckpointAt, now)
	}
	return []metric{
		{"arrived_lines_total", counter, float64(s.Arrived), "Lines that have arrived and are safe in the log."},
		{"lines_total", counter, float64(s.Lines), "Lines that have been judged."},
		{"bad_lines_total", counter, float64(s.Bad), "Lines that are not transactions."},
		{"transactions_total", counter, float64(s.Txns), "Transactions accepted."},
		{"judged_total", counter, float64(max(s.Txns-int64(s.Window), 0)), "Transactions whose verdict is final."},
		{"late_total", counter, float64(s.Late), "Transactions below the watermark when they arrived."},
		{"proved_total", counter, float64(s.Proved), "Violations of the level that are proved (leopard, replay)."},
		{"incidents_total", counter, float64(s.Incidents), "Incidents, those of LATE, JUMP and GAP lines included."},
		{"incidents_open", gauge, float64(s.OpenIncidents), "Incidents that may still get violations."},
		{"window_transactions", gauge, float64(s.Window), "Transactions that are not final."},
		{"keys", gauge, float64(s.Keys), "Keys known."},
		{"log_bytes", gauge, float64(s.LogBytes), "Size of the segment log, with the deleted segments."},
		{"watermark", gauge, float64(s.Watermark), "Time up to which verdicts are final, in the stream's own unit."},
		{"watermark_timestamp_seconds", gauge, unix(s.WatermarkAt),
			"The watermark in seconds since 1970, if the stream's times are dates."},
		{"lag_seconds", gauge, since(s.Waiting, now),
			"Age of the oldest line that is not judged; 0: all lines are judged."},
		{"last_arrival_timestamp_seconds", gauge, unix(s.LastArrival), "When a line last arrived, in this run."},
		{"checkpoint_timestamp_seconds", gauge, unix(s.CheckpointAt), "When the latest checkpoint was made."},
		{"checkpoint_age_seconds", gauge, age, "Age of the latest checkpoint."},
		{"checkpoint_pause_seconds", gauge, s.CheckpointPause.Seconds(), "How long the latest checkpoint stopped " +
			"the judging."},
		{"checkpoint_bytes", gauge, float64(s.CheckpointBytes), "Size of the latest checkpoint; 0: an earlier run " +
			"wrote it."},
		{"memory_bytes", gauge, memory(), "Memory that the process has from the operating system."},
		{"ready", gauge, one(notReady(s, now) == ""),
			"1: the whole log is read, the source is connected, and watch accepts lines."},
		{"disk_full", gauge, one(s.DiskFull), "1: the disk is full, and watch accepts no line."},
	}
}

// Further metrics: by kind, of the program, and of single judges.
const (
	violationsTotal = Prefix + "violations_total"
	kindsTotal      = Prefix + "violations_by_kind_total"
	buildInfo       = Prefix + "build_info"
	// AION's.
	rectifiedSeconds = Prefix + "rectified_seconds"
)

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func since(at, now time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return max(now.Sub(at).Seconds(), 0)
}

func unix(at time.Time) float64 {
	if at.IsZero() {
		return math.NaN()
	}
	return float64(at.UnixNano()) / 1e9
}

// Describe describes nothing, since each judge has metrics of its own.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the metrics of the latest snapshot.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s, now := c.m.Get(), c.now()
	send := func(name, help string, kind prometheus.ValueType, v float64, labels ...string) {
		var names, values []string
		for i := 0; i < len(labels); i += 2 {
			names, values = append(names, labels[i]), append(values, labels[i+1])
		}
		if !math.IsNaN(v) {
			out <- prometheus.MustNewConstMetric(prometheus.NewDesc(name, help, names, nil), kind, v, values...)
		}
	}
	for _, m := range always(&s, now) {
		send(Prefix+m.name, m.help, m.kind, m.value)
	}
	for _, x := range s.More {
		kind := prometheus.GaugeValue
		if x.Kind == "counter" {
			kind = prometheus.CounterValue
		}
		send(Prefix+x.Name, x.Help, kind, float64(x.N))
	}
	if s.Rectified.Counts != nil {
		buckets := map[float64]uint64{}
		for i, at := range watch.RectifiedBounds {
			buckets[at.Seconds()] = uint64(s.Rectified.Counts[i])
		}
		out <- prometheus.MustNewConstHistogram(prometheus.NewDesc(rectifiedSeconds, "How long the verdict of a "+
			"read was wrong until a later arrival corrected it, in this run.", nil, nil), uint64(s.Rectified.All),
			s.Rectified.Sum.Seconds(), buckets)
	}
	violations := map[string]int64{} // from 0 on, so that the first one is an increase
	for _, class := range s.Classes {
		violations[class] = 0
	}
	maps.Copy(violations, s.Violations)
	for class, n := range violations {
		send(violationsTotal, "Final violations.", prometheus.CounterValue, float64(n), cmp.Or(s.Label, "axiom"), class)
	}
	for _, k := range s.Kinds {
		send(kindsTotal, "Final violations by kind.", prometheus.CounterValue, float64(k.N), cmp.Or(s.Label, "axiom"),
			k.Class, "kind", k.Kind)
	}
	send(buildInfo, "The version of the program.", prometheus.GaugeValue, 1, "version", c.build.Version, "commit",
		c.build.Commit, "go", c.build.Go)
}
