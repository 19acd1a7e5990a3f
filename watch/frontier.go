package watch

// frontier is how far a stream has got, by what more than one session says: a single one that is ahead of all others,
// be it that its clock is wrong or a line is, does not move it. It is the second largest of the sessions' latest times;
// but where all others have been silent for lonely lines, or there is but one session, the second largest time of all.
type frontier struct {
	best   [2]ahead // the two sessions that are furthest
	all    [2]int64 // the two latest times
	n      int64    // times
	others int      // lines since best[1] was last moved
}

type ahead struct {
	who, at int64
	any     bool
}

// lonely is for how many lines a session must be ahead of all others to be believed.
const lonely = 64

// add takes a time. Who has no session is somebody else each time.
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

// value returns how far the stream has got; false: nobody can say yet.
func (f *frontier) value() (int64, bool) {
	switch {
	case f.n < 2:
		return 0, false
	case !f.best[1].any || f.others > lonely:
		return f.all[1], true
	}
	return f.best[1].at, true
}
