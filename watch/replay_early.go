package watch

type replayProgress struct {
	stop  func() bool `freeze:"-"` // see Until
	cut   bool        `freeze:"-"`
	next  int64       // the line to be taken next
	owes  bool        // the last line's transaction is added, but not finished
	ended bool        // all arrivals are final
}

// A call may return early (Interruptible): between two lines, two placed transactions, or two proofs. The remaining
// work is part of the state.

func (j *replayJudge) Until(stop func() bool) {
	j.progress.stop = stop
	j.e.Until(stop)
}

func (j *replayJudge) Cut() bool { return j.progress.cut }

// goesOn does the remaining work for the last line. It returns false if some is still left.
func (j *replayJudge) goesOn() bool {
	if j.progress.cut = false; j.progress.owes {
		if j.advance(j.mark); !j.progress.cut {
			j.finish()
		}
	}
	return !j.progress.cut
}

func (j *replayJudge) finish() {
	if j.follow(); !j.progress.cut {
		j.shorten()
	}
	j.progress.owes = j.progress.cut
}
