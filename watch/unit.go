package watch

import (
	"fmt"
	"math"
	"time"
)

// Unit is what the numbers are that a database calls timestamps.
type Unit uint8

const (
	// UnitUnknown: the stream shows it, see detect.
	UnitUnknown Unit = iota
	// UnitNone: numbers that only grow, such as those of a counter.
	UnitNone
	Nanoseconds // since 1970
	Microseconds
	Milliseconds
	Seconds
	// TSO is TiDB's and PolarDB's: milliseconds, and 18 bits below them that count.
	TSO
)

var unitNames = [...]string{"auto", "none", "ns", "us", "ms", "s", "tso"}

// UnitNames are the names that ParseUnit knows.
func UnitNames() []string { return unitNames[:] }

func (u Unit) String() string { return unitNames[u] }

// ParseUnit returns the unit of a name.
func ParseUnit(name string) (Unit, error) {
	for u, n := range unitNames {
		if n == name {
			return Unit(u), nil
		}
	}
	return 0, fmt.Errorf("unknown unit %q; expected one of %v", name, unitNames)
}

// ticks returns the number of timestamps in a duration; false: they do not tell time.
func (u Unit) ticks(d time.Duration) (int64, bool) {
	switch u {
	case Nanoseconds:
		return int64(d), true
	case Microseconds:
		return int64(d / time.Microsecond), true
	case Milliseconds:
		return int64(d / time.Millisecond), true
	case Seconds:
		return int64(d / time.Second), true
	case TSO:
		return int64(d/time.Millisecond)<<18 + int64(d%time.Millisecond)<<18/int64(time.Millisecond), true
	}
	return 0, false
}

// moment is the time that a timestamp tells; zero: it tells none.
func (u Unit) moment(at int64) time.Time {
	switch u {
	case Nanoseconds:
		return time.Unix(0, at)
	case Microseconds:
		return time.UnixMicro(at)
	case Milliseconds:
		return time.UnixMilli(at)
	case Seconds:
		return time.Unix(at, 0)
	case TSO:
		return time.UnixMilli(at >> 18)
	}
	return time.Time{}
}

// wide are how far behind the clock, and before it, timestamps are taken to tell time.
const (
	wideBehind = 20 * 365 * 24 * time.Hour
	wideAhead  = 365 * 24 * time.Hour
)

// detect tells the unit of a timestamp by the clock, ns since 1970: the only one in which it is a moment of the last
// twenty years. The units are so far apart that none is taken for another.
func detect(at, clock int64) Unit {
	for u := Nanoseconds; u <= TSO; u++ {
		now, _ := u.ticks(time.Duration(clock))
		behind, _ := u.ticks(wideBehind)
		ahead, _ := u.ticks(wideAhead)
		if at >= now-behind && at <= now+ahead {
			return u
		}
	}
	return UnitNone
}

// plus adds without going beyond what 64 bits hold.
func plus(a, b int64) int64 {
	switch c := a + b; {
	case b > 0 && c < a:
		return math.MaxInt64
	case b < 0 && c > a:
		return math.MinInt64
	default:
		return c
	}
}
