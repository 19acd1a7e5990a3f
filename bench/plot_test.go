package bench

import (
	"bytes"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/internal/test/must"
)

// TestHollowMarks: runs without an answer are drawn hollow, in lines and in bars, each metric's legend says what that
// is, and answers are filled.
func TestHollowMarks(t *testing.T) {
	none := func(metric, series, reason string, late bool) Point {
		return Point{Metric: metric, Group: "2", Series: series, Verdict: evidence.Unknown, Reason: reason,
			TimedOut: late}
	}
	for _, numeric := range []bool{true, false} {
		for _, c := range []struct {
			name   string
			points []Point
			says   []string
			hollow int
		}{
			{"answers", nil, nil, 0},
			{"time-out", []Point{none("time", "slow", "timeout after 1s", true)},
				[]string{"hollow: stopped at the time-out"}, 1},
			{"refused", []Point{none("time", "slow", "has predicates", false)},
				[]string{"hollow at the edge: no answer"}, 1},
			{"memory", []Point{none("time", "slow", "memory bound: 1 GB reached", false)},
				[]string{"hollow at the edge: no memory"}, 1},
			{"several", []Point{none("time", "slow", "timeout after 1s", true),
				none("time", "large", "memory bound: 1 GB reached", false),
				none("time", "odd", "has predicates", false)},
				[]string{"hollow: stopped at the time-out", "hollow at the edge: no answer"}, 3},
			{"another metric", []Point{none("memory", "slow", "timeout after 1s", true)}, nil, 0},
		} {
			r := &Report{Title: "a figure", fig: Figure{Axis: "transactions", Numeric: numeric}, timeout: 1e9}
			r.Add(decided("time", "1", "fast", 2))
			r.Add(decided("time", "2", "fast", 30))
			filled := must.Get(r.chart(Metric{"time", "check time", "ms"}))(t)
			r.Points = append(r.Points, c.points...)
			svg := must.Get(r.chart(Metric{"time", "check time", "ms"}))(t)
			for _, s := range []string{"hollow: stopped at the time-out", "hollow at the edge: no answer",
				"hollow at the edge: no memory"} {
				want := 0
				for _, says := range c.says {
					want += strings.Count(says, s)
				}
				must.Equal(t, bytes.Count(svg, []byte(">"+s+"<")), want, "%s, lines %v: how often %q stands there",
					c.name, numeric, s)
			}
			// A hollow mark is a path with a coloured stroke and without a fill.
			must.Equal(t, hollows(svg)-hollows(filled), c.hollow, "%s, lines %v: hollow marks", c.name, numeric)
		}
	}
}

// hollows counts paths that are stroked in a colour of the palette and neither filled nor lines of points.
func hollows(svg []byte) int {
	n := 0
	for _, e := range bytes.Split(svg, []byte("<path"))[1:] {
		e, _, _ = bytes.Cut(e, []byte("/>"))
		if bytes.Contains(e, []byte("fill:none")) && bytes.Contains(e, []byte("stroke:#")) && !bytes.Contains(e,
			[]byte("stroke:#000000")) {
			n++
		}
	}
	return n
}
