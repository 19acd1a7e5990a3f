package console

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/internal/plural"
)

// HelpLines bounds the lines of a help before its flags, on a terminal with [HelpColumns] columns.
const HelpLines = 24

// helpValue is the value of --help: true, false, or all.
type helpValue struct{ shown, all bool }

func (v *helpValue) String() string {
	if v.shown {
		return "true"
	}
	return "false"
}

func (v *helpValue) Type() string { return "bool" } // cobra asks for no other

func (v *helpValue) Set(s string) error {
	switch s {
	case "true", "all":
		v.shown, v.all = true, s == "all"
	case "false":
		v.shown = false
	default:
		return fmt.Errorf("expected --help or --help=all")
	}
	return nil
}

// addHelp adds the flag --help, which accepts "all", to a command.
func addHelp(c *cobra.Command) {
	f := c.Flags().VarPF(&helpValue{}, "help", "h", "this help; --help=all shows every flag")
	f.NoOptDefVal = "true"
}

// FlagGroup is a heading in a help with its flags, in order.
type FlagGroup struct {
	Title string
	Flags []*pflag.Flag
}

// FlagGroups returns the flags of a command by heading, and the number of rare ones that are left out. Flags that are
// in no table are under "More".
func FlagGroups(c *cobra.Command, all bool) (groups []FlagGroup, left int) {
	first, rare := "", []string(nil)
	for _, part := range partsOf(c.Name()) {
		switch part.name {
		case "first":
			first = part.text
		case "rare":
			rare = strings.Fields(part.text)
		}
	}
	taken := map[string]bool{}
	add := func(title string, names []string) {
		g := FlagGroup{Title: title}
		for _, name := range names {
			f := c.Flags().Lookup(name)
			if f == nil || f.Hidden || taken[name] {
				continue
			}
			taken[name] = true
			if !all && slices.Contains(rare, name) {
				left++
				continue
			}
			g.Flags = append(g.Flags, f)
		}
		if len(g.Flags) > 0 {
			groups = append(groups, g)
		}
	}
	add("Flags", strings.Fields(first))
	for _, part := range partsOf("flags") {
		add(part.name+" flags", strings.Fields(part.text))
	}
	var others []string
	c.Flags().VisitAll(func(f *pflag.Flag) { others = append(others, f.Name) })
	add("More flags", others)
	groups[0].Title = "Flags" // of a command with few
	return groups, left
}

// writeHelp prints a help of one screen: the purpose, examples, notes, and the flags by heading.
func writeHelp(w io.Writer, c *cobra.Command, columns int) {
	purpose, rest, _ := strings.Cut(c.Long, "\n\n")
	purpose = cmp.Or(purpose, c.Short+".")
	part := func(text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(w, "%s\n\n", text)
		}
	}
	part(Folded(purpose, columns))
	part(c.Example)
	part(Folded(rest, columns))
	c.Flags().SortFlags = true
	part("Usage: " + c.UseLine())
	all := false
	if f := c.Flags().Lookup("help"); f != nil {
		v, ok := f.Value.(*helpValue)
		all = ok && v.all
	}
	commandsHelp(w, c, columns)
	groups, left := FlagGroups(c, all)
	for i, g := range groups {
		set := pflag.NewFlagSet("", pflag.ContinueOnError)
		set.SortFlags = false
		for _, f := range g.Flags {
			set.AddFlag(f)
		}
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s:\n%s", g.Title, set.FlagUsagesWrapped(columns))
	}
	if left > 0 {
		fmt.Fprintf(w, "\n%s --help=all shows %s.\n", c.CommandPath(), plural.Of(left, "more flag"))
	}
}

// commandsHelp prints the subcommands of a command, by group.
func commandsHelp(w io.Writer, c *cobra.Command, columns int) {
	if !c.HasAvailableSubCommands() {
		return
	}
	groups := append(c.Groups(), &cobra.Group{Title: "Commands:"})
	if len(groups) > 1 {
		groups[len(groups)-1].Title = "More commands:"
	}
	for _, g := range groups {
		var b strings.Builder
		for _, sub := range c.Commands() {
			if sub.GroupID == g.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				fmt.Fprintf(&b, "  %-*s  %s\n", c.NamePadding(), sub.Name(), sub.Short)
			}
		}
		if b.Len() > 0 {
			fmt.Fprintf(w, "%s\n%s\n", g.Title, Folded(b.String(), columns))
		}
	}
}

// Prose returns a writer that folds sentences between words to the terminal's width, or w itself if w is no terminal.
func Prose(w io.Writer) io.Writer {
	if TerminalWidth(w) == 0 {
		return w
	}
	return prose{w, func() int { return TerminalWidth(w) }}
}

type prose struct {
	io.Writer
	width func() int
}

func (p prose) Unwrap() io.Writer { return p.Writer }

func (p prose) Write(b []byte) (int, error) {
	if _, err := io.WriteString(p.Writer, foldedLines(string(b), p.width())); err != nil {
		return 0, err
	}
	return len(b), nil
}

// firstColumn matches the name in a row with a name and a value, and the blanks between them.
var firstColumn = regexp.MustCompile(`^\S+(?: \S+)*  +`)

// foldedLines folds lines that are wider than a terminal. Continuation lines are indented by two more columns, or begin
// below the value if the line has a name and a value. JSON and commands stay unfolded, so that they can be copied.
func foldedLines(text string, columns int) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		plain := strings.TrimLeft(line, " ")
		if columns == 0 || utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) <= columns ||
			strings.HasPrefix(plain, "{") || strings.HasPrefix(plain, "[") || strings.HasPrefix(plain, "isovet ") ||
			strings.Contains(line, ": isovet ") || strings.ContainsAny(line, "\r\x1b") {
			out.WriteString(line)
			continue
		}
		begin := len(line) - len(plain)
		head, hang := strings.Repeat(" ", begin), begin+2
		if name := firstColumn.FindString(plain); name != "" && begin+utf8.RuneCountInString(name) <= columns/2 {
			head, plain, hang = head+name, plain[len(name):], begin+utf8.RuneCountInString(name)
		}
		parts := fold(strings.TrimSuffix(plain, "\n"), max(columns-hang, LeastColumn))
		out.WriteString(head + strings.Join(parts, "\n"+strings.Repeat(" ", hang)))
		if strings.HasSuffix(line, "\n") {
			out.WriteByte('\n')
		}
	}
	return out.String()
}

// HelpColumns is the width of a help, in characters, if no terminal says its own.
const HelpColumns = 100

// Folded fills each paragraph of a text into lines of so many characters. It fills list items too: an indented line,
// and the lines after it that begin below its text. Longer words are not broken.
func Folded(text string, columns int) string {
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); {
		hang := hanging(lines[i])
		long, j := false, i
		for ; j < len(lines) && lines[j] != "" && (j == i || indentOf(lines[j]) == hang); j++ {
			long = long || utf8.RuneCountInString(lines[j]) > columns
		}
		j = max(j, i+1)
		if long {
			out = append(out, filled(lines[i:j], hang, columns)...)
		} else {
			out = append(out, lines[i:j]...)
		}
		i = j
	}
	return strings.Join(out, "\n")
}

// filled fills a paragraph or an item. It keeps the text before column hang in the first line.
func filled(lines []string, hang, columns int) []string {
	out, line, words := []string(nil), lines[0][:hang], 0
	for _, word := range strings.Fields(lines[0][hang:] + " " + strings.Join(lines[1:], " ")) {
		if words > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns {
			out, line, words = append(out, line), strings.Repeat(" ", hang), 0
		}
		if words > 0 {
			line += " "
		}
		line += word
		words++
	}
	return append(out, line)
}

// hanging returns the column where the text of a line begins: after its indentation and, in a list, after a name and
// two spaces.
func hanging(line string) int {
	n := indentOf(line)
	if n == 0 {
		return 0
	}
	if gap := strings.Index(line[n:], "  "); gap > 0 {
		return n + gap + indentOf(line[n+gap:])
	}
	return n
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
