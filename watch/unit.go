package watch

import (
	"fmt"
	"math"
	"time"
)

// Unit is the unit of a database's timestamps.
type Unit uint8

const (
	// UnitUnknown says that the stream will show it, see detect.
	UnitUnknown Unit = iota
	// UnitNone is for numbers that only grow, such as those of a counter.
	UnitNone
	Nanoseconds // since 1970
	Microseconds
	Milliseconds
	Seconds
	// TSO is TiDB's and PolarDB's form: milliseconds, and below them 18 bits of a counter.
	TSO
)

var unitNames = [...]string{"auto", "none", "ns", "us", "ms", "s", "tso"}

// UnitNames returns the names that ParseUnit accepts.
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

// ticks returns the number of timestamps in a duration; false if they are no times.
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

// moment returns a timestamp's time; zero if it is none.
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

// wide are the distances behind the clock, and before it, within which timestamps count as times.
const (
	wideBehind = 20 * 365 * 24 * time.Hour
	wideAhead  = 365 * 24 * time.Hour
)

// detect finds the unit of a timestamp by the clock, in ns since 1970: the only unit in which it is a moment of the
// last twenty years. The units are too far apart to be confused.
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

// plus adds with saturation.
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
