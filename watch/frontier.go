package watch

// frontier is the progress of a stream: the second largest of the sessions' latest times. So one session with a wrong
// clock or a wrong line cannot move it. If only one session was active during lonely lines, or there is only one, it
// is the second largest of all times.
type frontier struct {
	best   [2]ahead // the two sessions that are furthest
	all    [2]int64 // the two latest times
	n      int64    // times
	others int      // lines since best[1] last moved
}

type ahead struct {
	who, at int64
	any     bool
}

// lonely is the number of lines for which only one session may be ahead before frontier believes it.
const lonely = 64

// add adds a time of session who. Callers give each transaction without a session a session of its own.
func (f *frontier) add(who, at int64) {
	if f.n++; f.n == 1 || at > f.all[0] {
		f.all[0], f.all[1] = at, f.all[0]
	} else if f.n == 2 || at > f.all[1] {
		f.all[1] = at
	}
	f.others++
	a, b := &f.best[0], &f.best[1]
	switch {
	case a.any && a.who == who:
		a.at = max(a.at, at)
	case !a.any || at > a.at:
		if a.any {
			*b = *a
			f.others = 0
		}
		*a = ahead{who, at, true}
	case !b.any || at > b.at:
		*b = ahead{who, at, true}
		f.others = 0
	}
}

// value returns the progress, or false if it is not known yet.
func (f *frontier) value() (int64, bool) {
	switch {
	case f.n < 2:
		return 0, false
	case !f.best[1].any || f.others > lonely:
		return f.all[1], true
	}
	return f.best[1].at, true
}
