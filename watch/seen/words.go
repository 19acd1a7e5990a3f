package seen

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"isovet/internal/escape"
)

// Keys, sessions and texts come from the network. Pages escape them with html/template. They also replace, with shown,
// characters that would change how the text around them reads.

// shown returns a text of at most n characters. It replaces invisible characters and those that change the direction
// of writing by their codes, and cuts out the middle of a longer text.
func shown(s string, n int) string {
	const spare = 16
	if len(s) > 4*n+spare { // not all of ten megabytes
		s = s[:2*n+spare/2] + "…" + s[len(s)-2*n-spare/2:]
	}
	r := []rune(escape.Line(strings.NewReplacer("\n", " ", "\t", " ").Replace(strings.ToValidUTF8(s, "\ufffd"))))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:(n-1)/2]) + "…" + string(r[len(r)-n/2:])
}

// plain returns a key or a value for people: JSON, but without quotes if it is a string that looks like a name.
func plain(raw json.RawMessage, n int) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-./:", r)
	}) < 0 && !unicode.IsDigit(rune(s[0])) && s != "null" && s != "true" && s != "false" {
		return shown(s, n)
	}
	return shown(string(raw), n)
}

// grouped writes a number with commas.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// rate writes a number a second.
func rate(x float64) string {
	if x > 0 && x < 10 {
		return strconv.FormatFloat(x, 'f', 1, 64) + "/s"
	}
	return grouped(int64(x+0.5)) + "/s"
}

func size(n float64) string {
	for _, unit := range []string{"B", "KiB", "MiB", "GiB"} {
		if n < 1024 {
			digits := 1
			if unit == "B" || n >= 100 {
				digits = 0
			}
			return strconv.FormatFloat(n, 'f', digits, 64) + " " + unit
		}
		n /= 1024
	}
	return strconv.FormatFloat(n, 'f', 1, 64) + " TiB"
}

// lasting writes a duration in one or two units, of seconds or more.
func lasting(d time.Duration) string {
	d = max(d, 0)
	two := func(a int64, x string, b int64, y string) string {
		if b == 0 {
			return fmt.Sprintf("%d %s", a, x)
		}
		return fmt.Sprintf("%d %s %d %s", a, x, b, y)
	}
	s := int64(d / time.Second)
	switch {
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return two(s/60, "min", s%60, "s")
	case s < 86400:
		return two(s/3600, "h", s%3600/60, "min")
	}
	return two(s/86400, "d", s%86400/3600, "h")
}

// clock writes a time to the second.
func clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// recent writes a time in short form: only the time of day if it is today.
func recent(t, now time.Time) string {
	if t.UTC().Format(time.DateOnly) == now.UTC().Format(time.DateOnly) {
		return t.UTC().Format("15:04:05 UTC")
	}
	return clock(t)
}

// line is a line of the file of violations by any judge.
type line struct {
	N         int64           `json:"n"`
	Axiom     string          `json:"axiom"`
	Mechanism string          `json:"mechanism"`
	Kind      string          `json:"kind"`
	Why       string          `json:"why"`
	Txn       *int64          `json:"txn"`
	Other     *int64          `json:"other"`
	Txns      []int64         `json:"txns"`
	Key       json.RawMessage `json:"key"`
	Op        *uint32         `json:"op"`
	Missing   []int64         `json:"missing"`
	Text      string          `json:"text"`
	Anomaly   string          `json:"anomaly"`
	Level     string          `json:"level"`
	Proved    bool            `json:"proved"`
	Assumes   string          `json:"assumes"`
	// If is what the proof assumes.
	If string `json:"proof_assumes"`
}

// means explains the classes of findings.
var means = map[string]string{
	"SESSION":    "a transaction began before the one before it in its session had committed",
	"INT":        "a read disagrees with what its own transaction had read or written before",
	"EXT":        "a read shows a version that is not the one in its snapshot",
	"NOCONFLICT": "two transactions wrote one key, and neither had committed before the other began",
	"TIMESTAMPS": "a transaction's commit timestamp is before its start timestamp",
	"VIOLATION":  "no order of the transactions explains the reads",
	"UNDECIDED":  "the transactions in memory neither explain nor refute a read",
	"LATE":       "a transaction arrived after the verdicts for its time were final; it was not judged",
	"JUMP":       "a transaction's times are far ahead of all others; it was not judged",
	"GAP":        "transactions of a session are missing",
}

// ext explains the kinds of wrong reads.
var ext = map[string]string{
	"never written": "a value that nobody wrote",
	"own":           "a value that its own transaction wrote only later",
	"aborted":       "a value that only an aborted transaction wrote",
	"intermediate":  "a value that its writer then overwrote itself",
	"before":        "a version that had been overwritten by the time of its snapshot",
	"uncommitted":   "a version whose writer had not committed by the time of its snapshot",
	"after":         "a version whose writer began only after its snapshot",
	"phantom":       "rows that differ from those in its snapshot",
	"":              "a version that is not the one in its snapshot",
}

const keyRunes = 60 // of a key, in a sentence or a table

// sentence describes the violation in a sentence.
func (l *line) sentence() string {
	if l.Text != "" {
		return shown(gist(l.Text), 1000)
	}
	t := func(id *int64) string {
		if id == nil {
			return "a transaction"
		}
		return "T" + strconv.FormatInt(*id, 10)
	}
	key := "a key"
	if len(l.Key) > 0 {
		key = plain(l.Key, keyRunes)
	}
	read := t(l.Txn) + "’s read of " + key
	if l.Op != nil {
		read += fmt.Sprintf(" (operation %d)", *l.Op+1)
	}
	switch l.Axiom {
	case "EXT":
		s := read + " shows " + cmp.Or(ext[l.Why], ext[""])
		if l.Other != nil {
			s += "; it should show what " + t(l.Other) + " wrote"
		}
		return s + "."
	case "INT":
		return read + " does not agree with what " + t(l.Txn) + " itself had read or written before it."
	case "SESSION":
		return t(l.Txn) + " began before " + t(l.Other) + ", the one before it in its session, had committed."
	case "NOCONFLICT":
		return t(l.Other) + " and " + t(l.Txn) + " both wrote " + key +
			", and neither had committed before the other began."
	case "TIMESTAMPS":
		return t(l.Txn) + " has a commit timestamp before its start timestamp."
	case "LATE":
		if l.Other != nil {
			return read + " was not judged: " + t(l.Other) + ", which wrote the value that it shows, arrived too late."
		} else if l.Op != nil {
			return read + " was not judged: too many reads waited for their writers."
		}
		return t(l.Txn) + " arrived too late to be judged."
	case "JUMP":
		return t(l.Txn) + "’s times are far ahead of all others; it was not judged. " + shown(l.Why, 200)
	case "GAP":
		s := "Transactions of a session before " + t(l.Txn) + " are missing"
		if len(l.Missing) == 2 {
			s += fmt.Sprintf(": numbers %d to %d", l.Missing[0], l.Missing[1])
		}
		if l.Other != nil {
			s += "; " + t(l.Other) + " is the last one before the gap"
		}
		return s + "."
	case "UNDECIDED":
		return read + " is not decided: " + shown(cmp.Or(l.Why, means["UNDECIDED"]), 300) + "."
	}
	return shown(cmp.Or(l.Why, means[l.Axiom], l.Kind, "See the line below")+".", 300)
}

// lines returns a text of several lines, each through shown.
func lines(s string, most int) string {
	var out []string
	for l := range strings.Lines(s) {
		if len(out) == most {
			out = append(out, "…")
			break
		}
		out = append(out, shown(strings.TrimRight(l, "\n"), 400))
	}
	return strings.Join(out, "\n")
}

// gist removes the list of transactions, the lines below "Let", from the beginning of a proof's text.
func gist(s string) string {
	var out []string
	for l := range strings.Lines(s) {
		if !strings.HasPrefix(l, " ") && strings.TrimSpace(l) != "Let" {
			out = append(out, strings.TrimSpace(l))
		}
	}
	return strings.Join(out, " ")
}
