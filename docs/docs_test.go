package docs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"isovet/internal/test/must"
	"isovet/level"
)

var update = flag.Bool("update", false, "write the generated lists of anomalies.md and levels.md")

// TestLists: anomalies.md lists what anomalies.tsv has, and levels.md what package level has. `make docs` writes them.
func TestLists(t *testing.T) {
	var anomalies, levels strings.Builder
	rows := Anomalies()
	for _, a := range rows {
		item(&anomalies, fmt.Sprintf("`%s`: %s. Weakest levels: %s. Example: `%s`", a.Kind, a.About, a.Weakest, a.Example))
	}
	must.Equal(t, len(rows), strings.Count(table, "\n")-1, "lines of anomalies.tsv with four columns")
	for _, l := range level.All() {
		orders := "none"
		switch {
		case l.Sessions() && l.RealTime():
			orders = "session order, real time"
		case l.Sessions():
			orders = "session order"
		case l.RealTime():
			orders = "real time"
		}
		item(&levels, fmt.Sprintf("`%s` (`%s`): %s. Orders that it must respect: %s.", l,
			strings.Join(l.ShortNames(), "`, `"), strings.TrimSuffix(l.About(), "."), orders))
	}
	for file, list := range map[string]string{"anomalies.md": anomalies.String(), "levels.md": levels.String()} {
		page := must.Get(os.ReadFile(file))(t)
		before, rest, ok := strings.Cut(string(page), "<!-- generated -->\n")
		_, after, ok2 := strings.Cut(rest, "<!-- end -->\n")
		want := before + "<!-- generated -->\n" + list + "<!-- end -->\n" + after
		switch {
		case !ok || !ok2:
			t.Errorf("%s has no place for its list", file)
		case want == string(page):
		case !*update:
			t.Errorf("%s is not what the data say: make docs", file)
		default:
			must.OK(t, os.WriteFile(file, []byte(want), 0o644))
		}
	}
}

// item writes an item of a list in lines of at most 120 columns.
func item(w *strings.Builder, text string) {
	line := "-"
	for _, word := range strings.Fields(text) {
		if utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > 120 {
			w.WriteString(line + "\n")
			line = " "
		}
		line += " " + word
	}
	w.WriteString(line + "\n")
}
