// Package ddmin removes the unnecessary things from a list: delta debugging, with a test by the caller.
package ddmin

import "isovet/internal/slice"

// Sweep tries to remove the things 0 to n-1 that are left: halves of them first, then ever smaller runs, until no
// single one can be removed. left reports whether a thing is still there. try removes the things of a run, and reports
// whether the rest passes the test; if not, it must have removed none. A successful try may remove other things too.
// Sweep ends early when stop returns true. It reports whether anything was removed.
//
// Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28 (2002), §3. Differs:
// only complements are tried, and after a removed run Sweep does not go back to coarser sizes, since little is left
// then. The rest is 1-minimal: nothing can be removed alone. Cost: for k things that must stay among n, about
// 2k·log(n/k) tries, and k more for each further pass.
func Sweep(n int, left func(i int) bool, try func(run []int) bool, stop func() bool) (went bool) {
	there := func() []int {
		var out []int
		for i := range n {
			if left(i) {
				out = append(out, i)
			}
		}
		return out
	}
	list := there()
	for size := (len(list) + 1) / 2; size >= 1; {
		some := false
		for end := len(list); end > 0; end -= size { // from the end: what came last is needed least
			run := slice.Filter(list[max(0, end-size):end], left)
			if len(run) == 0 {
				continue
			}
			if stop() {
				return went
			}
			if try(run) {
				some, went = true, true
			}
		}
		if some {
			list = there()
		}
		switch {
		case size > len(list)/2+1:
			size = (len(list) + 1) / 2
		case size > 1:
			size = (size + 1) / 2
		case !some:
			return went
		}
	}
	return went
}
