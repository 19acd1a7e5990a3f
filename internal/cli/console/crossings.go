package console

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Crossing is a flag that has no meaning beside what else the command line says.
type Crossing struct {
	// Flag is the flag, or several with spaces, any of them.
	Flag string
	// With is what else holds, or several conditions with spaces, all of them: another flag is given; "!NAME": it is
	// not; "NAME=VALUE", "NAME!=VALUE": the flag has that value, or another one, whether it is given or not.
	With string
	// Say is why, and what to do instead. "{}" stands for the flag, "{NAME}" for the value of another one.
	Say string
}

// Crossings are those of commands, by the commands' names.
type Crossings map[string][]Crossing

// Crossed returns the first crossing of a command line as an error.
func Crossed(c *cobra.Command, all Crossings) error {
	for _, x := range all[c.Name()] {
		if err := x.of(c.Flags()); err != nil {
			return err
		}
	}
	return nil
}

func (x *Crossing) of(fl *pflag.FlagSet) error {
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

// holds reports whether a condition of Crossing.With does.
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

// hasValue reports whether a flag has a value; a checker may have settings behind it.
func hasValue(fl *pflag.FlagSet, name, value string) bool {
	v, _, _ := strings.Cut(fl.Lookup(name).Value.String(), ":")
	return v == value
}

// given reports whether a flag asks for something: one that is switched off, or empty, does not.
func given(fl *pflag.FlagSet, name string) bool {
	f := fl.Lookup(name)
	switch v := f.Value.String(); v {
	case "", "false", "0", "0s":
		return false
	default:
		return f.Changed || v != f.DefValue
	}
}
