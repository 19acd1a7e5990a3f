package report

import (
	"fmt"
	"io"
	"strings"
)

// maxAnnotations is how many annotations of a kind GitHub shows of a step.
const maxAnnotations = 10

// github writes commands for a log of GitHub Actions: an annotation a finding, at the line of its first transaction.
// Histories that are valid have none.
var github = Stream{
	Begin: func(io.Writer, int, int) error { return nil },
	Item: func(w io.Writer, _, _, _ int, it *Item) error {
		var b strings.Builder
		for _, r := range it.Answers {
			for i, f := range findings(it.Path, r) {
				if i == maxAnnotations {
					break
				}
				command := "error"
				if f.unknown {
					command = "warning"
				}
				b.WriteString(annotation(command, f.at, f.title, f.text))
			}
		}
		if it.unanswered() {
			b.WriteString(annotation("error", it.mistake(), "no answer", it.errText()))
		}
		_, err := io.WriteString(w, b.String())
		return err
	},
	End: func(io.Writer, int, string) error { return nil },
}

func annotation(command string, at spot, title, text string) string {
	where := ""
	if at.file != "-" {
		where = "file=" + property(at.file) + ","
		if at.line > 0 {
			where += fmt.Sprintf("line=%d,", at.line)
		}
	}
	return fmt.Sprintf("::%s %stitle=%s::%s\n", command, where, property(title), data(text))
}

// data and property escape as GitHub's workflow commands ask for it.
func data(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

func property(s string) string { return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(data(s)) }
