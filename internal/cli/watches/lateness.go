package watches

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"isovet/internal/cli/console"
	"isovet/watch"
)

// gateFlags are the flags that say which lines watch accepts, and when they are final.
type gateFlags struct {
	lateness, unit, attach string
	jump, patience         time.Duration
}

func (f *gateFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.lateness, "lateness", f.lateness, "longest delay of a transaction: `DURATION` or 10000ticks")
	fl.DurationVar(&f.jump, "max-jump", f.jump, "quarantine transactions further ahead; 0: none")
	fl.DurationVar(&f.patience, "patience", f.patience, "time that a read waits for its writer; 0: none")
}

var Bare = regexp.MustCompile(`^\d+$`)

// late reads --lateness: a duration, or a number of timestamps.
func (f *gateFlags) late(aion bool) (ticks int64, wait time.Duration, err error) {
	s := f.lateness
	if s == "0" {
		return 0, 0, nil
	}
	if Bare.MatchString(s) {
		hint := ""
		if aion {
			hint = ", or " + s + "ticks for a difference of the database's timestamps"
		}
		return 0, 0, console.Usagef("--lateness %s: a number without a unit; expected a duration such as 5s or 250ms%s",
			s, hint)
	}
	if number, is := strings.CutSuffix(s, "ticks"); is && aion {
		ticks, err := strconv.ParseInt(number, 10, 64)
		if err != nil || ticks < 0 || ticks > watch.AllLate {
			return 0, 0, console.Usagef("--lateness %s; expected 0ticks to %dticks", s, int64(watch.AllLate))
		}
		return ticks, 0, nil
	}
	wait, err = time.ParseDuration(s)
	if err != nil || wait < 0 {
		return 0, 0, console.Usagef("--lateness %s; expected a duration such as 5s or 250ms", s)
	}
	return 0, wait, nil
}

func (f *gateFlags) options() (watch.GateOptions, error) {
	switch {
	case f.jump < 0:
		return watch.GateOptions{}, console.Usagef("--max-jump %v is negative", f.jump)
	case f.patience < 0:
		return watch.GateOptions{}, console.Usagef("--patience %v is negative", f.patience)
	}
	return watch.GateOptions{Once: true, MaxJump: f.jump, Patience: f.patience}, nil
}

// Keeping reads --keep.
func Keeping(s string) (watch.Keep, error) {
	var k watch.Keep
	if s == "all" {
		return k, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		if d, err := time.ParseDuration(part); err == nil && d > 0 && k.Age == 0 {
			k.Age = d
			continue
		}
		if k.Bytes != 0 || Bare.MatchString(part) || (console.Size(&k.Bytes)).Set(part) != nil {
			return k, console.Usagef("--keep %s; expected a duration such as 24h, a size such as 10GiB, both with a "+
				"comma between them, or all", s)
		}
	}
	return k, nil
}
