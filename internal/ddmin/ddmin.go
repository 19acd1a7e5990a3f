// Package ddmin leaves out of a list what is not needed: delta debugging, by whoever says what "needed" means.
package ddmin

// Sweep tries to leave out what is left of the things 0 to n-1: halves of them first, then ever smaller runs, until
// none can go alone. left reports whether a thing is still there; try leaves out those of a run, and reports whether
// that will do: if not, it has left out none. A try that succeeds may take other things along. Sweep ends early where
// stop returns true, and reports whether anything went.
//
// Source: Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", IEEE TSE 28 (2002), §3.
// Differs: only complements are tried, and a run that went is not tried again at coarser sizes, since what is left then
// is small. What remains is 1-minimal: nothing can go alone.
// Cost: for k things that must stay among n, about 2k·log(n/k) tries, and k more for each further pass.
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
			var run []int
			for _, i := range list[max(0, end-size):end] {
				if left(i) {
					run = append(run, i)
				}
			}
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
