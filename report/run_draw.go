package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"isovet/internal/plural"
	"isovet/internal/sorts"
)

// The sizes of the figures of a run, in SVG units.
const (
	plotLeft, plotTop, plotWidth, plotHeight      = 64, 20, 900, 220
	pointSize, columnsTop, columnWidth, rowHeight = 3, 24, 128, 16
)

// across returns the place of a moment on the axis of time.
func (r *run) across(at int64) float64 {
	return plotLeft + plotWidth*min(1, between64(r.zero, at)/max(between64(r.zero, r.last), 1))
}

// plot draws a figure over time: the faults, the axes, and a curve or points for each status. ticks are the names on
// the vertical axis, from below. more is drawn below the statuses.
func (r *run) plot(title string, ticks []string, size int, paths *[3]strings.Builder, more string) markup {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="run" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img"><title>%[3]s</title>`+
		`<text class="head" x="%[4]d" y="12">%[3]s</text>`, plotLeft+plotWidth+40, plotTop+plotHeight+20, title, plotLeft)
	names := map[string]int{}
	for _, f := range r.faults[:min(len(r.faults), maxFaults)] {
		x, name := r.across(f.from), ""
		if names[f.name]++; names[f.name] == 1 {
			name = Clip(f.name, 20)
		}
		fmt.Fprintf(&b, `<g class="fault"><title>%s</title><rect x="%.1f" y="%d" width="%.1f" height="%d"/>`+
			`<text class="axis" x="%.1f" y="%d">%s</text></g>`, esc(f.name), x, plotTop, max(1, r.across(f.to)-x),
			plotHeight, x+2, plotTop+12*len(names), esc(name))
	}
	for i, name := range ticks {
		y := plotTop + plotHeight - float64(i*plotHeight)/float64(len(ticks)-1)
		fmt.Fprintf(&b, `<path class="row" d="M%d,%.1f h%d"/><text class="axis" text-anchor="end" x="%d" y="%.1f">%s</text>`,
			plotLeft, y, plotWidth, plotLeft-6, y+4, name)
	}
	span := max(between64(r.zero, r.last), 1)
	for at, step := 0.0, round(span/8); at <= span; at += step {
		fmt.Fprintf(&b, `<text class="axis" text-anchor="middle" x="%.1f" y="%d">%s</text>`, plotLeft+plotWidth*at/span,
			plotTop+plotHeight+14, spanText(at))
	}
	b.WriteString(more)
	for s, name := range [...]string{"ok", "fail", "unknown"} { // by status
		x := plotLeft + plotWidth - 220 + 76*s
		fmt.Fprintf(&b, `<g class="o-%s"><rect x="%d" y="3" width="10" height="10"/><text x="%d" y="12">%[1]s</text>`+
			`<path fill="none" stroke-width="%[4]d" d="%[5]s"/></g>`, name, x, x+14, size, &paths[s])
	}
	return markup(b.String() + "</svg>")
}

// round returns the least of 1, 2, 5, 10, 20, … that is not less than x.
func round(x float64) float64 {
	base := math.Pow(10, math.Floor(math.Log10(max(x, 1))))
	i := slices.IndexFunc([]float64{1, 2, 5, 10}, func(f float64) bool { return f*base >= x })
	return []float64{1, 2, 5, 10}[max(i, 0)] * base
}

// latency draws a point for each call that ended, at its begin. about says how many there are. Calls of one status
// whose points would overlap share one.
func (r *run) latency() (figure markup, about string) {
	took := func(i int) float64 { return max(between64(r.calls[i].Start, r.calls[i].End), 1) }
	least, most, n := math.Inf(1), 1.0, 0
	step := round(between64(r.zero, r.last) / 30)
	steps := make([][]float64, 1+int(between64(r.zero, r.last)/step)) // what the calls in each step took
	for i, c := range r.calls {
		if c.End >= c.Start {
			least, most, n = min(least, took(i)), max(most, took(i)), n+1
			in := &steps[int(between64(r.zero, c.Start)/step)]
			*in = append(*in, took(i))
		}
	}
	low := math.Floor(math.Log10(min(least, most)))
	high := max(math.Ceil(math.Log10(most)), low+1)
	height := func(took float64) float64 { return plotTop + plotHeight*(high-math.Log10(took))/(high-low) }
	taken := map[int]bool{}
	for i, c := range r.calls {
		if c.End >= c.Start {
			taken[(int(r.across(c.Start))/pointSize*1000+int(height(took(i)))/pointSize)*3+int(c.Status)] = true
		}
	}
	var paths [3]strings.Builder
	for _, p := range slices.Sorted(maps.Keys(taken)) {
		fmt.Fprintf(&paths[p%3], "M%d %dh0", p/3000*pointSize, p/3%1000*pointSize)
	}
	var ticks []string
	for d := low; d <= high; d++ {
		ticks = append(ticks, spanText(math.Pow(10, d)))
	}
	return r.plot("Latency by the time of the call", ticks, pointSize, &paths, r.quantiles(steps, step, height)),
		fmt.Sprintf("Latency: %s for %d of %s; operations of one outcome that would overlap share a point. Curves: "+
			"quantiles over steps of %s. Grey: %d of %s of the nemesis. ", plural.Of(len(taken), "point"), n,
			plural.Of(len(r.calls), "operation"), spanText(step), min(len(r.faults), maxFaults),
			plural.Of(len(r.faults), "fault"))
}

// quantiles draws Jepsen's quantiles of the latencies in each step of time, at heights by latency.
func (r *run) quantiles(steps [][]float64, step float64, height func(float64) float64) string {
	var b strings.Builder
	for _, of := range steps {
		slices.Sort(of)
	}
	for _, q := range []float64{0.5, 0.95, 0.99, 1} {
		fmt.Fprintf(&b, `<g class="quantile"><title>quantile %g</title><path d="`, q)
		pen, x, y := "M", 0.0, 0.0
		for i, of := range steps {
			if len(of) == 0 {
				continue
			}
			x = r.across(r.zero + int64((float64(i)+0.5)*step))
			y = height(of[min(int(q*float64(len(of))), len(of)-1)])
			fmt.Fprintf(&b, "%s%.1f %.1f", pen, x, y)
			pen = "L"
		}
		fmt.Fprintf(&b, `"/><text class="axis" x="%.1f" y="%.1f">%g</text></g>`, x+3, y+4, q)
	}
	return b.String()
}

// rate draws how many calls of each status ended in a second. Those without an end count when they began.
func (r *run) rate() markup {
	step := round(between64(r.zero, r.last) / 100)
	counts, most := make([][3]int, 1+int(between64(r.zero, r.last)/step)), 0
	for _, c := range r.calls {
		n := &counts[int(between64(r.zero, max(c.Start, c.End))/step)][c.Status]
		*n++
		most = max(most, *n)
	}
	top := round(float64(most) * 1e9 / step)
	var paths [3]strings.Builder
	for i := range counts {
		for s, n := range counts[i] {
			fmt.Fprintf(&paths[s], "%c%.1f %.1f", "ML"[min(i, 1)], r.across(r.zero+int64((float64(i)+0.5)*step)),
				plotTop+plotHeight*(1-float64(n)*1e9/step/top))
		}
	}
	return r.plot("Operations per second, over steps of "+spanText(step), []string{"0", fmt.Sprint(float32(top / 2)),
		fmt.Sprint(float32(top))}, 2, &paths, "")
}

// opBox is an operation in a figure with a column for each process. to is the largest int64 if it has no end.
type opBox struct {
	process, from, to int64
	class, text, tip  string
	found             bool
}

// columns draws operations as Knossos does: a column for each process, time downwards, Jepsen's colours for outcomes.
// Calls and returns are equally far apart, since true times differ too much. Bands show faults among them.
func columns(ops []opBox, who string, faults []fault) markup {
	var at, processes []int64 // all calls and returns
	for i := range ops {
		o := &ops[i]
		processes, at = append(processes, o.process), append(at, o.from)
		if o.to = max(o.from, o.to); o.to != math.MaxInt64 {
			at = append(at, o.to)
		}
		if o.found {
			o.class += " found"
		}
	}
	at = slices.Compact(slices.Sorted(slices.Values(at)))
	processes = slices.Compact(slices.Sorted(slices.Values(processes)))
	width, height := len(processes)*columnWidth, columnsTop+(len(at)+1)*rowHeight
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="jepsen" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" role="img" `+
		`aria-label="Operations by %[3]s">`, width, height, who)
	bands := 0
	for _, f := range faults {
		from, _ := slices.BinarySearch(at, f.from)
		to, _ := slices.BinarySearch(at, f.to)
		if from == len(at) || to == 0 || bands == maxBands {
			continue
		}
		bands++
		fmt.Fprintf(&b, `<g class="fault"><title>%s</title><rect x="0" y="%d" width="%d" height="%d"/></g>`,
			esc(f.name), columnsTop+from*rowHeight, width, max(1, (to-from)*rowHeight))
	}
	for i, p := range processes {
		fmt.Fprintf(&b, `<text class="sess" x="%d" y="14">%s %d</text><path class="row" d="M%d,0 V%d"/>`,
			i*columnWidth+4, who, p, i*columnWidth, height)
	}
	sorts.Stable(ops, func(a, b opBox) int { return cmp.Compare(a.from, b.from) })
	for _, o := range ops {
		i, _ := slices.BinarySearch(processes, o.process)
		from, _ := slices.BinarySearch(at, o.from)
		to, _ := slices.BinarySearch(at, o.to)
		x, y := i*columnWidth+2, columnsTop+from*rowHeight
		fmt.Fprintf(&b, `<g class="o-%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="3"/>`+
			`<text x="%d" y="%d">%s</text></g>`, o.class, esc(o.tip), x, y, columnWidth-4,
			max(to-from, 1)*rowHeight-2, x+3, y+11, esc(Clip(o.text, 17)))
	}
	return markup(b.String() + "</svg>")
}
