package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"isovet/evidence"
	"isovet/level"
)

// tap writes the Test Anything Protocol, version 14: a test point a history and level, with what is wrong in a block of
// YAML. What is unknown is not ok; a level that no checker decides for the history is skipped.
var tap = Stream{
	Begin: func(w io.Writer, items, answers int) error {
		_, err := fmt.Fprintf(w, "TAP version 14\n1..%d\n", items*answers)
		return err
	},
	Item: func(w io.Writer, i, answers, _ int, it *Item) error {
		var b strings.Builder
		n := i * answers
		for _, r := range it.Answers {
			n++
			switch {
			case r.Verdict == evidence.Holds:
				fmt.Fprintf(&b, "ok %d - %s\n", n, tapText(verdictLine(it.Path, r)))
			case skipped(r):
				fmt.Fprintf(&b, "ok %d - %s # SKIP %s\n", n, tapText(it.Path+": "+r.Label()), tapText(r.Reason))
			default:
				fmt.Fprintf(&b, "not ok %d - %s\n", n, tapText(verdictLine(it.Path, r)))
				for _, f := range findings(it.Path, r) {
					tapBlock(&b, f.kind, f.text, f.at)
					break // one block a point
				}
			}
		}
		for j := 0; it.unanswered() && j < answers; j++ {
			n++
			what := it.Path
			if all := level.All(); answers == len(all) {
				what += ": " + all[j].String()
			}
			fmt.Fprintf(&b, "not ok %d - %s\n", n, tapText(what))
			tapBlock(&b, "bad-input", it.errText(), it.mistake())
		}
		_, err := io.WriteString(w, b.String())
		return err
	},
	End: func(w io.Writer, _ int, reason string) error {
		if reason == "" {
			return nil
		}
		_, err := fmt.Fprintf(w, "Bail out! %s\n", tapText(reason))
		return err
	},
}

// tapText keeps a description in its line, and what would be a directive out of it.
func tapText(s string) string {
	return strings.NewReplacer("\\", "\\\\", "#", "\\#", "\n", " ", "\r", " ").Replace(s)
}

// tapBlock says what is wrong; JSON is YAML.
func tapBlock(b *strings.Builder, kind, text string, at spot) {
	fmt.Fprintf(b, "  ---\n  kind: %s\n  message: %s\n", quoted(kind), quoted(text))
	if at.line > 0 {
		fmt.Fprintf(b, "  at:\n    file: %s\n    line: %d\n", quoted(at.file), at.line)
	}
	b.WriteString("  ...\n")
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(b)
}
