package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"isovet/evidence"
	"isovet/history/format"
	"isovet/internal/test/formatfiles"
)

// readersFigure is how fast the text formats are read, and dbcop's and Cobra's binary ones, which other tools write.
func readersFigure() Figure {
	return Figure{ID: "speed/readers", Title: "how fast files of each format are read", Where: "docs/performance.md",
		Metrics: []Metric{{"rate", "megabytes of the file in a second of processor time", "MB/s"},
			{"file", "size of the file", "MB"}},
		Axis: "format", Own: true, Bounds: readerBounds, Measure: speedReaders}
}

// readerBound is what each format's reader is to reach on one core, in MB/s.
const readerBound = 300

// speedReaders reads one history in every format: up to the finished history, on one core, the best of three times.
func speedReaders(ctx context.Context, lab *Lab, r *Report) error {
	for _, f := range formatfiles.All(lab.Pick(300, 100_000, 100_000)) {
		lab.tell("reading " + f.Name)
		rate, size, err := lab.readRate(ctx, &f)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		r.Add(Point{Metric: "rate", Group: f.Name, Series: "now", Value: rate, Verdict: evidence.Holds})
		r.Add(Point{Metric: "rate", Group: f.Name, Series: "bound", Value: readerBound, Verdict: evidence.Holds})
		r.Add(Point{Metric: "file", Group: f.Name, Series: "now", Value: size, Verdict: evidence.Holds})
	}
	return nil
}

// readRate measures one format, in MB/s and MB.
func (l *Lab) readRate(ctx context.Context, f *formatfiles.File) (rate, size float64, err error) {
	dir, err := os.MkdirTemp(l.dir, "readers-")
	if err != nil {
		return 0, 0, err
	}
	defer os.RemoveAll(dir)
	path, n, err := f.Write(filepath.Clean(dir))
	if err != nil {
		return 0, 0, err
	}
	size = float64(n) / 1e6
	reader, ok := format.ByName(f.Format)
	if !ok {
		return 0, 0, fmt.Errorf("no format %s", f.Format)
	}
	for range l.Pick(1, speedRepeats, speedRepeats) {
		in, err := format.Open(path)
		if err != nil {
			return 0, 0, err
		}
		runtime.GC()
		start, cpu := time.Now(), selfCPUMS()
		h, err := reader.Read(ctx, in, format.Options{Workers: 1})
		wall := float64(time.Since(start).Microseconds()) / 1e3
		if cpu = selfCPUMS() - cpu; cpu <= 0 {
			cpu = wall // a system that does not tell
		}
		in.Close()
		if err != nil {
			return 0, 0, err
		}
		l.made.addNamed("one shape, as every format reads it", evidence.SizesOf(h))
		l.wall, l.cpu = l.wall+wall, l.cpu+cpu
		rate = max(rate, size/cpu*1e3)
	}
	return rate, size, nil
}

// readerBounds makes a claim of every format.
func readerBounds(r *Report) []Saying {
	var out []Saying
	for _, g := range r.Groups("rate") {
		if bound := r.Find("rate", g, "bound"); bound != nil {
			out = append(out, Saying{Says: g, Sense: AtLeast, Number: bound.Value, Unit: "MB/s",
				Find: whole("rate", g, "now"), Why: runsDiffer, shown: missedBy("rate", g)})
		}
	}
	return out
}
