package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/internal/cli/console"
	"isovet/internal/test/must"
)

// find is the command of a name, with flags that nobody has set yet.
func find(t *testing.T, name string) *cobra.Command {
	asked := []string{strings.Replace(name, "compare", "bench", 1)} // no other command is made
	for todo := []*cobra.Command{newRoot(console.NewEnv(asked, nil, nil, nil))}; len(todo) > 0; todo = todo[1:] {
		if todo[0].Name() == name {
			return todo[0]
		}
		todo = append(todo, todo[0].Commands()...)
	}
	t.Fatalf("no command %s", name)
	return nil
}

// give sets a flag to a value of its type that is not the one before.
func give(t *testing.T, fl *pflag.FlagSet, name string) {
	for _, v := range []string{"x", "5", "1m", "true", "junit", "ns", "lost-update", "txns", "snapshot-isolation",
		"reversed", "cdcl", "mini", "shuffled", "dbcop", "seen"} {
		if was := fl.Lookup(name).Value.String(); fl.Set(name, v) == nil && fl.Lookup(name).Value.String() != was {
			return
		}
	}
	t.Fatalf("no value for --%s", name)
}

// meet makes a condition hold.
func meet(t *testing.T, fl *pflag.FlagSet, with string) {
	name, not := strings.CutPrefix(with, "!")
	name, value, is := strings.Cut(name, "=")
	switch {
	case strings.HasSuffix(name, "!"):
		if name = strings.TrimSuffix(name, "!"); fl.Lookup(name).Value.String() == value {
			give(t, fl, name)
		}
	case not: // as it is
	case is:
		must.OK(t, fl.Set(name, value))
	default:
		give(t, fl, with)
	}
}

// TestCrossings: each crossing of each command is refused, in its own words, and none of the flags alone is.
func TestCrossings(t *testing.T) {
	n := 0
	for _, command := range []string{"check", "shrink", "report", "verify", "compare", "collect", "convert",
		"watch", "gen", "encode", "probe"} {
		must.OK(t, console.Crossed(find(t, command)), "%s without flags", command)
		for _, x := range console.CrossingsOf(command) {
			for _, flag := range strings.Fields(x.Flag) {
				n++
				c := find(t, command)
				give(t, c.Flags(), flag)
				if err := x.Of(c.Flags()); err != nil && !strings.Contains(x.With, "!") &&
					!strings.Contains(x.With, "checker=replay") {
					t.Errorf("%s --%s alone: %v", command, flag, err)
				}
				for _, with := range strings.Fields(x.With) {
					meet(t, c.Flags(), with)
				}
				err := x.Of(c.Flags())
				if err == nil {
					t.Errorf("%s: --%s passes where %s", command, flag, x.With)
					continue
				}
				want, _, _ := strings.Cut(strings.ReplaceAll(x.Say, "{}", flag), "{")
				if got := err.Error(); !strings.Contains(got, want) || strings.Contains(got, "{") ||
					console.StatusOf(err) != console.StatusBadInput {
					t.Errorf("%s --%s: %v", command, flag, err)
				}
			}
		}
	}
	must.Be(t, n >= 70, "%d flags exclude others; the test reads the wrong part of commands.txt", n)
}
