package bench

import "strings"

// Why a claim does not hold is data like the claim: what can be tested of a reason is recomputed from the rows of its
// figure, or by a test that is named; what cannot is called a conjecture.

// What is behind a reason.
const (
	byRows  = "rows"
	refuted = "refuted" // the rows do not bear it out
)

// reason says why a claim does not hold, and what is behind it: byRows, refuted, a test's name, or "".
func (s *Saying) reason(r *Report) (why, tested string) {
	switch {
	case s.Why == "":
		return "not known", ""
	case s.test != "":
		return s.Why + " (" + s.test + ")", s.test
	case s.shown == nil:
		return "a conjecture: " + s.Why, ""
	}
	said, ok := s.shown(r)
	switch {
	case ok:
		return s.Why + " (" + said + ")", byRows
	case said == "":
		return "a conjecture: " + s.Why, ""
	}
	return "not known; these rows do not bear out that " + s.Why + " (" + said + ")", refuted
}

// showing recomputes what a reason rests on: in words, and whether it is so; "": these rows do not tell.
type showing func(r *Report) (said string, ok bool)

// shown is a number that has to reach another one, as claims have to.
func shown(what string, find finder, sense Sense, n float64, unit string) showing {
	return func(r *Report) (string, bool) {
		f := find(r)
		if f.None != "" {
			return "", false
		}
		c := Claim{Sense: sense, Number: n, Here: sixDigits(f.Value), Beyond: f.Beyond, Unit: unit, At: f.At,
			Measured: true}
		v := c.verdict()
		if v == NotComparable {
			return "", false
		}
		return what + ": " + c.here(), v == Holds
	}
}

// allShown joins several.
func allShown(of ...showing) showing {
	return func(r *Report) (string, bool) {
		var said []string
		all := true
		for _, s := range of {
			text, ok := s(r)
			if text == "" {
				return "", false
			}
			said, all = append(said, text), all && ok
		}
		return strings.Join(said, "; "), all
	}
}
