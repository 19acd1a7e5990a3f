package solver

// restarter says when to restart.
//
// Luby's sequence is the default. Conflicts of other choices (BenchmarkTechniques: random 3-SAT of 200 variables, ten
// formulas, and pigeonhole 8; default 142,852 and 22,130): restarts by glue 129,105 and 12,975; a Luby unit of 32
// 135,072 and 30,058, of 512 138,416 and 19,519; no restarts at all 166,515 and 10,141. So none is best on both; the
// choice never changes an answer.
type restarter struct {
	opts *Options
	next int64 // conflict count at which a restart is due

	luby uint64 // runs so far

	fast, slow   float64 // exponential averages of the learned clauses' glue
	wfast, wslow float64 // their weights so far, which correct for starting at 0
}

const (
	glueFast   = 1.0 / 32
	glueSlow   = 1.0 / 8192
	glueMargin = 1.10
	glueMinRun = 4 // conflicts between restarts
)

// start plans the first restart of a call of Solve.
func (r *restarter) start(conflicts int64) {
	r.luby = 0
	r.done(conflicts)
}

// done plans the next restart.
func (r *restarter) done(conflicts int64) {
	if r.opts.Restart == RestartGlue {
		r.next = conflicts + glueMinRun
		return
	}
	r.luby++
	r.next = conflicts + int64(r.opts.LubyUnit)*int64(luby(r.luby))
}

func (r *restarter) due(conflicts int64) bool {
	if conflicts < r.next {
		return false
	}
	if r.opts.Restart == RestartGlue {
		return r.wslow > 0 && r.fast/r.wfast > glueMargin*r.slow/r.wslow
	}
	return true
}

// noteGlue updates the averages of glue, by which restarts may be chosen, with that of a learned clause.
func (s *Solver) noteGlue(glue int) {
	r := &s.restart
	g := float64(glue)
	r.fast += glueFast * (g - r.fast)
	r.wfast += glueFast * (1 - r.wfast)
	r.slow += glueSlow * (g - r.slow)
	r.wslow += glueSlow * (1 - r.wslow)
}

// luby returns the i-th number, from 1, of the sequence 1 1 2 1 1 2 4 1 1 2 1 1 2 4 8 ….
func luby(i uint64) uint64 {
	for {
		k := uint64(1)
		for 1<<k-1 < i {
			k++
		}
		if 1<<k-1 == i {
			return 1 << (k - 1)
		}
		i -= 1<<(k-1) - 1
	}
}
