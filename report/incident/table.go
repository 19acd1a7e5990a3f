package incident

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"isovet/collect"
	"isovet/history"
)

// line is an event for the table: its number, its column, its text.
type line struct {
	n       int // from 1
	at      string
	session int // column, from 0
	txn     int64
	text    []string // the statements
	got     string
	waits   string // the sessions that it waits for, in words
	locking bool
	refused bool
}

// lines numbers the events and finds the statements that waited for others. Each session becomes a column, in the
// order of its first event.
func lines(events []collect.Event) (out []line, sessions int) {
	column := map[int]int{}
	if len(events) == 0 {
		return nil, 0
	}
	since := events[0].Start
	for i, e := range events {
		c, ok := column[e.Session]
		if !ok {
			c = len(column)
			column[e.Session] = c
		}
		l := line{n: i + 1, at: ms(e.Start, since), session: c, txn: e.Txn, text: e.Statements, got: e.Got,
			locking: e.Locking, refused: e.Refused}
		l.waits = waited(events, i)
		out = append(out, l)
	}
	return out, len(column)
}

// waited names the later events of other sessions that came before the answer to a statement; "" if it waited for none.
func waited(events []collect.Event, i int) string {
	e := events[i]
	if e.End == history.NoTime {
		return ""
	}
	last := -1
	for j := i + 1; j < len(events) && events[j].Start < e.End; j++ {
		if f := events[j]; f.Session != e.Session && f.End != history.NoTime && f.End <= e.End {
			last = j
		}
	}
	if last < 0 {
		return ""
	}
	return fmt.Sprintf("answered after %d", last+1)
}

// mostColumns bounds the sessions that are shown side by side. More sessions become a list.
const mostColumns = 4

// table returns the events as text, with the sessions side by side if they are few.
func table(events []collect.Event) string {
	ls, sessions := lines(events)
	if sessions > mostColumns {
		return list(ls)
	}
	width := 132 / max(sessions, 2)
	if sessions == 1 {
		width = 110
	}
	var b strings.Builder
	row := func(n, at string, column int, text string) {
		var r strings.Builder
		fmt.Fprintf(&r, "%4s %8s", n, at)
		for c := range sessions {
			cell := ""
			if c == column {
				cell = text
			}
			r.WriteString(" | " + cell)
			if c < sessions-1 {
				r.WriteString(strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell))))
			}
		}
		b.WriteString(strings.TrimRight(r.String(), " ") + "\n")
	}
	var head []string
	for c := range sessions {
		head = append(head, fmt.Sprintf("%-*s", width, fmt.Sprintf("session %d", c+1)))
	}
	fmt.Fprintf(&b, "%4s %8s | %s\n", "", "ms", strings.TrimRight(strings.Join(head, " | "), " "))
	b.WriteString(strings.Repeat("-", 14+sessions*(width+3)) + "\n")
	for _, l := range ls {
		n, at := fmt.Sprint(l.n), l.at
		for _, t := range l.said() {
			for _, part := range wrap(t, width) {
				row(n, at, l.session, part)
				n, at = "", ""
			}
		}
	}
	return b.String()
}

// said returns a line's texts: the statements and the answer.
func (l *line) said() (out []string) {
	out = append(out, l.text...)
	if l.got != "" {
		out = append(out, "-> "+l.got)
	}
	if l.waits != "" {
		out = append(out, "-- "+l.waits)
	}
	return out
}

// list returns events one below the other.
func list(ls []line) string {
	var b strings.Builder
	for _, l := range ls {
		for i, t := range l.said() {
			if i == 0 {
				fmt.Fprintf(&b, "%4d %8s  session %-3d %s\n", l.n, l.at, l.session+1, t)
			} else {
				fmt.Fprintf(&b, "%27s%s\n", "", t)
			}
		}
	}
	return b.String()
}

// wrap breaks a text into lines of at most width characters, between words if possible.
func wrap(s string, width int) (out []string) {
	r, indent := []rune(s), "" // converted once: a value may have megabytes
	for len(indent)+len(r) > width {
		cut := width - len(indent)
		for i := cut; i > width/2-len(indent); i-- {
			if r[i] == ' ' {
				cut = i
				break
			}
		}
		out = append(out, indent+string(r[:cut]))
		indent = "  "
		for r = r[cut:]; len(r) > 0 && r[0] == ' '; {
			r = r[1:]
		}
	}
	return append(out, indent+string(r))
}
