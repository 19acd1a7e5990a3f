package bench

import (
	"errors"
	"io"
	"strconv"
	"strings"
)

var (
	draw         func(*Report, Metric) ([]byte, error)
	writeParquet func(io.Writer, []Observation) error
)

// RegisterCharts sets the functions that draw figures and write tidy data as Parquet. Package bench/charts calls it.
func RegisterCharts(chart func(*Report, Metric) ([]byte, error), parquet func(io.Writer, []Observation) error) {
	draw, writeParquet = chart, parquet
}

// HasCharts reports whether the program can draw charts and write Parquet.
func HasCharts() bool { return draw != nil }

var errNoCharts = errors.New("this program has neither charts nor Parquet; expected the full isovet")

func (r *Report) chart(m Metric) ([]byte, error) {
	if draw == nil {
		return nil, errNoCharts
	}
	return draw(r, m)
}

// WritePlot draws the times of a comparison as SVG: a row for each history, and in it a bar with its interval for each
// contender.
func WritePlot(w io.Writer, rows []Row) error {
	time := Metric{"time", "check", "ms"}
	r := &Report{Title: "Times of checks, medians", fig: Figure{Axis: "history", Metrics: []Metric{time}}}
	for i := range rows {
		in := &rows[i]
		p := Point{Metric: time.Key, Group: in.source().Name(), Series: in.Contender().String(), Value: in.CheckMS,
			Verdict: in.Verdict, Reason: in.Reason}
		for j := range in.Runs {
			p.Runs = append(p.Runs, checkMS(&in.Runs[j]))
		}
		r.Add(p)
	}
	svg, err := r.chart(time)
	if err != nil {
		return err
	}
	_, err = w.Write(svg)
	return err
}

// Drawn returns the figure, which says what the axes are.
func (r *Report) Drawn() *Figure { return &r.fig }

// Height returns the height at which a point is drawn. If the metric is a time and the point reached the time-out, it
// is drawn there.
func (r *Report) Height(p *Point, m Metric) (float64, bool) {
	switch {
	case p.Metric != m.Key:
		return 0, false
	case p.Decided():
		return p.Value, p.Value > 0
	case p.TimedOut && m.Unit == "ms":
		return float64(r.timeout.Milliseconds()), true
	}
	return 0, false
}

// PaperValue returns the paper's number for a point in the metric's unit. It returns false if the text is no number,
// or a bound.
func PaperValue(text, unit string) (float64, bool) {
	number, of, _ := strings.Cut(strings.TrimSpace(text), " ")
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	if err != nil || v <= 0 {
		return 0, false
	}
	if of == unit || of == "" {
		return v, true
	}
	factor := map[[2]string]float64{{"s", "ms"}: 1e3, {"min", "ms"}: 60e3, {"h", "ms"}: 3600e3, {"ms", "s"}: 1e-3,
		{"min", "s"}: 60, {"GB", "MB"}: 1e3, {"KB", "MB"}: 1e-3, {"kB", "MB"}: 1e-3}[[2]string{of, unit}]
	return v * factor, factor > 0
}
