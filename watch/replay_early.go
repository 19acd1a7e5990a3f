package watch

// replayProgress is how far the stream has been taken.
type replayProgress struct {
	stop  func() bool `freeze:"-"` // see Until
	cut   bool        `freeze:"-"`
	next  int64       // the line that is to be taken next
	owes  bool        // the last one's transaction is there, and no more
	ended bool        // all that has come is final
}

// A call may end early (Interruptible): between two lines, two transactions that are placed, or two proofs. What it
// leaves undone is part of the state.

func (j *replayJudge) Until(stop func() bool) {
	j.progress.stop = stop
	j.e.Until(stop)
}

func (j *replayJudge) Cut() bool { return j.progress.cut }

// goesOn does what the last line has left undone; false: not all of it.
func (j *replayJudge) goesOn() bool {
	if j.progress.cut = false; j.progress.owes {
		if j.advance(j.mark); !j.progress.cut {
			j.finish()
		}
	}
	return !j.progress.cut
}

// finish does what follows from the last line.
func (j *replayJudge) finish() {
	if j.follow(); !j.progress.cut {
		j.shorten()
	}
	j.progress.owes = j.progress.cut
}
