package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"isovet/internal/cli/console"
	"isovet/internal/test/must"
)

// TestTableFits: a table is folded to the width it is given, loses no word, and is as wide as it gets without one.
func TestTableFits(t *testing.T) {
	header := []string{"name", "what it is", "levels"}
	rows := [][]string{
		{"vbox", "times and predicates, with a closure that is compact – as the paper has it", "ser sser strict-ser"},
		{"x", "", strings.Repeat("y", 40)},
		{"cobra", "short", "ser"},
	}
	for _, most := range []int{0, 200, 80, 60, 40} {
		var b bytes.Buffer
		must.OK(t, console.TableWithin(&b, most, header, rows))
		text := b.String()
		must.Be(t, most != 0 || strings.Count(text, "\n") == 4, "folded without a terminal:\n%s", text)
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			if n := utf8.RuneCountInString(line); most > 0 && n > most || strings.HasSuffix(line, " ") {
				t.Errorf("%d of %d columns: %q", n, most, line)
			}
		}
		for _, row := range rows {
			for _, cell := range row {
				for _, word := range strings.Fields(cell) {
					if len(word) < console.LeastColumn && !strings.Contains(text, word) {
						t.Errorf("%d columns: %q is lost in\n%s", most, word, text)
					}
				}
			}
		}
		if got := strings.Count(text, "y"); got < 40 {
			t.Errorf("%d columns: a word was cut short:\n%s", most, text)
		}
	}
}

// TestProgressLine: how far, how fast and how long yet, of each stage by itself.
func TestProgressLine(t *testing.T) {
	var b bytes.Buffer
	p := &console.Progress{W: &b}
	now := time.Now()
	p.Begin("checking h")
	must.Equal(t, p.Line(now), "checking h", "at first")
	p.Step("running", 0, 1000)
	p.Began = now.Add(-2 * time.Second)
	p.Step("running", 250, 1000)
	must.Equal(t, p.Line(now), "checking h: running █████░░░░░░░░░░░░░░░ 250/1000, 125/s, 0:06 left", "running")
	p.Step("writing: 3 files", 7, 0)
	must.Equal(t, p.Line(now), "checking h: writing: 3 files 7", "writing")
	p.Began = now.Add(-10 * time.Second)
	p.Step("writing: 4 files", 20_007, 0)
	must.Equal(t, p.Line(now), "checking h: writing: 4 files 20007, 2k/s", "writing")
	p.Step("solving", 1, 1)
	must.Equal(t, p.Line(now), "checking h: solving", "solving")
	p.Start = now.Add(-90 * time.Second)
	p.Draw(now)
	if got := b.String(); !strings.HasPrefix(got, "\r\x1b[K") || !strings.HasSuffix(got, "checking h: solving, 1:30") {
		t.Errorf("drawn: %q", got)
	}
	p.Hide()
	if !strings.HasSuffix(b.String(), "\r\x1b[K") {
		t.Errorf("not taken away: %q", b.String())
	}
}

func TestSuggest(t *testing.T) {
	of := []string{"serializable", "snapshot-isolation", "causal", "si"}
	for word, want := range map[string]string{"serialisable": "serializable", "cuasal": "causal",
		"SERIALIZABLE": "serializable", "zebra": "", "sj": "si", "snapshotisolation": "snapshot-isolation"} {
		got := console.Suggest(word, of, "")
		if want != "" {
			want = " (did you mean " + want + "?)"
		}
		must.Equal(t, got, want, "%s", word)
	}
}
