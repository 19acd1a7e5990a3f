package watch

import (
	"fmt"
	"slices"
	"time"

	"isovet/watch/online"
)

// Unit is the unit of a database's timestamps.
type Unit uint8

const (
	// UnitUnknown says that the unit is not known yet: the stream will show it (detect).
	UnitUnknown Unit = iota
	// UnitNone is for numbers that only grow, such as a counter's.
	UnitNone
	Nanoseconds // since 1970
	Microseconds
	Milliseconds
	Seconds
	// TSO is the form of TiDB and PolarDB: milliseconds, shifted left by 18 bits for a counter.
	TSO
)

var unitNames = [...]string{"auto", "none", "ns", "us", "ms", "s", "tso"}

// UnitNames returns the names that ParseUnit accepts.
func UnitNames() []string { return unitNames[:] }

func (u Unit) String() string { return unitNames[u] }

// ParseUnit returns the unit of a name.
func ParseUnit(name string) (Unit, error) { return named[Unit]("unit", unitNames[:], name) }

func named[T ~uint8](what string, names []string, name string) (T, error) {
	if i := slices.Index(names, name); i >= 0 {
		return T(i), nil
	}
	return 0, fmt.Errorf("unknown %s %q; expected one of %v", what, name, names)
}

// ticks returns a duration in units of the timestamps, or false if these are not times.
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

// moment returns a timestamp as a time, or zero if it is not one.
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

// wideBehind and wideAhead bound how far a timestamp may be behind or ahead of the clock to count as a time.
const (
	wideBehind = 20 * 365 * 24 * time.Hour
	wideAhead  = 365 * 24 * time.Hour
)

// detect finds the unit in which a timestamp is a moment of the last twenty years, by the clock in ns since 1970. Only
// one unit can match, since they are far apart.
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

// plus adds, and limits the result to the range of int64.
func plus(a, b int64) int64 { return online.Plus(a, b) }
