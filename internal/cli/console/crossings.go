package console

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/internal/slice"
)

// Crossing is a flag that has no effect with other parts of a command line.
type Crossing struct {
	// Flag is the flag, or any of several, separated by blanks.
	Flag string
	// With is the condition, or several, separated by blanks, that must all hold: a flag's name means that it is
	// given, "!NAME" that it is not; "NAME=VALUE" and "NAME!=VALUE" compare its value, given or not.
	With string
	// Say is the reason, and what to do instead. "{}" stands for the flag, "{NAME}" for the value of another flag.
	Say string
}

// CrossingsOf returns the crossings of a command, by its name.
func CrossingsOf(command string) (all []Crossing) {
	for _, part := range partsOf(command) {
		if flags, is := strings.CutPrefix(part.name, "not "); is {
			flag, with, _ := strings.Cut(flags, " with ")
			all = append(all, Crossing{flag, with, strings.ReplaceAll(part.text, "\n", " ")})
		}
	}
	return all
}

// Crossed returns an error about the first crossing in a command line.
func Crossed(c *cobra.Command) error {
	return slice.Each(CrossingsOf(c.Name()), func(x Crossing) error { return x.Of(c.Flags()) })
}

// Of returns an error if the flags have the crossing.
func (x *Crossing) Of(fl *pflag.FlagSet) error {
	for _, with := range strings.Fields(x.With) {
		if !holds(fl, with) {
			return nil
		}
	}
	for _, name := range strings.Fields(x.Flag) {
		if given(fl, name) {
			say := strings.ReplaceAll(x.Say, "{}", name)
			fl.VisitAll(func(f *pflag.Flag) { say = strings.ReplaceAll(say, "{"+f.Name+"}", f.Value.String()) })
			return Usagef("%s", say)
		}
	}
	return nil
}

// holds reports whether a condition of Crossing.With holds.
func holds(fl *pflag.FlagSet, with string) bool {
	if name, not := strings.CutPrefix(with, "!"); not {
		return !given(fl, name)
	}
	if name, value, is := strings.Cut(with, "!="); is {
		return !hasValue(fl, name, value)
	}
	if name, value, is := strings.Cut(with, "="); is {
		return hasValue(fl, name, value)
	}
	return given(fl, with)
}

// hasValue reports whether a flag has a value. A checker's settings after the value are ignored.
func hasValue(fl *pflag.FlagSet, name, value string) bool {
	v, _, _ := strings.Cut(fl.Lookup(name).Value.String(), ":")
	return v == value
}

// given reports whether a flag is given, and neither switched off nor empty.
func given(fl *pflag.FlagSet, name string) bool {
	f := fl.Lookup(name)
	switch v := f.Value.String(); v {
	case "", "false", "0", "0s":
		return false
	default:
		return f.Changed || v != f.DefValue
	}
}
