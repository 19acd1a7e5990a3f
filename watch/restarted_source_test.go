package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestPipeAgain: a file that is read from its beginning again must have the lines of the log; another one is refused
// with its first line that differs, and nothing of it is skipped or judged.
func TestPipeAgain(t *testing.T) {
	line := func(id int) string {
		return fmt.Sprintf(`{"id":%d,"session":0,"start_ts":%d,"commit_ts":%d,"ops":[["w","x",%d]]}`+"\n", id,
			2*id, 2*id+1, id)
	}
	head := `{"format":"isovet-history","version":1,"initial":0}` + "\n"
	first := head + line(1) + line(2) + "\n" + line(3)
	for name, c := range map[string]struct {
		text string
		at   int64 // -1: it goes on
		txns int64
	}{
		"the same":            {first, -1, 3},
		"longer":              {first + line(4), -1, 4},
		"shorter":             {head + line(1), -1, 3},
		"what follows":        {line(4) + line(5), 0, 3},
		"with its own header": {head + line(4), 1, 3},
		"another at the end":  {head + line(1) + line(2) + "\n" + line(4), 4, 3},
	} {
		dir := t.TempDir()
		run := func(text string) (txns int64, err error) {
			var m Metrics
			err = Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 10), Metrics: &m,
				Open: func(context.Context, Places) (Source, error) { return Pipe(strings.NewReader(text), -1), nil }})
			return m.Get().Txns, err
		}
		if _, err := run(first); err != nil {
			t.Fatal(err)
		}
		txns, err := run(c.text)
		var other *OtherStreamError
		switch {
		case c.at < 0 && err != nil, c.at >= 0 && (!errors.As(err, &other) || other.Place != c.at):
			t.Errorf("%s: %v", name, err)
		case txns != c.txns:
			t.Errorf("%s: %d transactions; expected %d", name, txns, c.txns)
		}
	}
}
