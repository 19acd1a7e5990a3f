package watch

// A call may end early (Interruptible): between two lines, two transactions that are placed, or two proofs. What it
// leaves undone is part of the state.

func (j *replayJudge) Until(stop func() bool) {
	j.stop = stop
	j.e.Until(stop)
}

func (j *replayJudge) Cut() bool { return j.cut }

// goesOn does what the last line has left undone; false: not all of it.
func (j *replayJudge) goesOn() bool {
	if j.cut = false; j.owes {
		if j.advance(j.mark); !j.cut {
			j.finish()
		}
	}
	return !j.cut
}

// finish does what follows from the last line.
func (j *replayJudge) finish() {
	if j.follow(); !j.cut {
		j.shorten()
	}
	j.owes = j.cut
}
