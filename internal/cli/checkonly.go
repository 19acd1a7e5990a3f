//go:build checkonly

package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

// heavy commands are left out, and say so.
func heavy(*env) (all []*cobra.Command) {
	for _, name := range []string{"collect", "hunt", "probe", "watch", "bench"} {
		all = append(all, &cobra.Command{Use: name, Hidden: true, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error {
				return usagef("this program checks and nothing else; %s is a command of the full isovet", name)
			}})
	}
	return all
}

const startHeavy = `
This program checks, and nothing else: collect, hunt, probe, watch and bench are in the full one.
`

// benchRoot is never asked for: the program that has it is not built.
func benchRoot(*env) *cobra.Command { panic("built without bench") }

// newBar is a plain one: the library's comes with a web server, a third of this program.
func newBar(w io.Writer, n int64) bar { return &plainBar{w: w, of: n} }

type plainBar struct {
	w        io.Writer
	what     string
	of, done int64
}

func (b *plainBar) Describe(what string) { b.what = what }

func (b *plainBar) IsFinished() bool { return b.of > 0 && b.done >= b.of }

// Set draws the line over the last.
func (b *plainBar) Set(done int) error {
	b.done = int64(done)
	of := ""
	if b.of > 0 {
		of = fmt.Sprintf(" %d%%", 100*b.done/b.of)
	}
	_, err := fmt.Fprintf(b.w, "\r\x1b[K%.60s%s", b.what, of)
	return err
}

// Clear takes it off the terminal.
func (b *plainBar) Clear() error {
	_, err := fmt.Fprint(b.w, "\r\x1b[K")
	return err
}

// table writes rows under a header for people, without the library that the full program has for it.
func table(w io.Writer, header []string, rows [][]string) error {
	var b bytes.Buffer
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{header}, rows...) {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for line := range bytes.Lines(b.Bytes()) {
		if _, err := fmt.Fprintf(w, "%s\n", bytes.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}
