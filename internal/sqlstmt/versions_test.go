package sqlstmt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"isovet/internal/sqltext"
	"isovet/internal/test/must"
	"isovet/record"
)

// TestVersionsForget: what is remembered stays within its bound, and what is forgotten is never taken for another
// version: it is left out. The twin remembers all.
func TestVersionsForget(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var out bytes.Buffer
	rec := record.To(&out, record.Options{})
	v, twin, all := versions{most: 100}, map[string]any{}, map[any]bool{}
	first := map[string]uint32{}
	left, seen := 0, 0
	for n := range uint32(100_000) {
		row := random.IntN(2000)
		key := fmt.Sprint("t/", row)
		name := func(xid uint32) string { return fmt.Sprint(key, " ", xid) }
		if random.IntN(2) == 0 {
			xid := 1000 + n - uint32(random.IntN(3))
			got := v.wrote(key, xid, valueOfID(xid))
			if id := [2]any{key, got}; all[id] {
				t.Fatalf("%s: %v is written twice", key, got)
			} else {
				all[id] = true
			}
			twin[name(xid)] = got
		} else {
			xid, old := 1000+n-uint32(random.IntN(1000)), random.IntN(3) == 0
			if old {
				xid = uint32(row % 7)
			}
			want := twin[name(xid)]
			if f, ok := first[key]; old && (f == xid || !ok) {
				want = int64(xid)
			}
			switch got, by := v.read(rec, key, xid, valueOfID(xid), old); {
			case by == forgotten:
				left++
			case by == recorded && got == want:
				seen++
			case by == unrecorded && want == nil:
			default:
				t.Fatalf("%s: version %d is %v (%v); expected %v", key, xid, got, by, want)
			}
			if old {
				first[key] = xid
			}
		}
		must.Equal(t, len(v.young)+len(v.old) <= 200, true, "at most 200 entries")
	}
	must.Equal(t, left > 0 && seen > 0, true, "%d reads are left out, and %d recorded", left, seen)
	must.OK(t, rec.Close())
	for row := range 2000 {
		n := bytes.Count(out.Bytes(), fmt.Appendf(nil, `"t/%d"`, row))
		must.Equal(t, n <= 1, true, "the initial version of row %d is told %d times", row, n)
	}
}

// TestDeletionsLeaveRows: however often a row is deleted, what is known of it stays as it is.
func TestDeletionsLeaveRows(t *testing.T) {
	for deletions := range 8 {
		var v versions
		v.touch("t/1", 0)
		for range deletions {
			v.wrote("t/1", nil, func(int64) any { return nil })
		}
		n, ok := v.get(v.hash("t/1", nil))
		must.Equal(t, n == written && ok, true, "%d deletions: the row's state is %b", deletions, n)
		_, by := v.read(record.New(record.Options{}), "t/1", uint32(1), valueOfID(1), true)
		must.Equal(t, by, unrecorded, "an old version of a row that was deleted")
	}
}

// TestPosition: an error's position in the text that was sent becomes the position in the program's text.
func TestPosition(t *testing.T) {
	template, ok := sqltext.Generalize("SELECT é, nothing FROM t WHERE id = 12345 ORDER BY 1")
	must.Equal(t, ok, true, "a template")
	last := len(template.Text) - 1
	plan := &Plan{SQL: template.Text, edits: []edit{{last, last + 1, "3"}, {7, 7, "a::text, b::text, "}}}
	p := plan.of("SELECT é, nothing FROM t WHERE id = 12345 ORDER BY 1", template)
	for _, word := range []string{"SELECT", "é", "nothing", "WHERE", "12345", "ORDER"} {
		place := func(text string) int { return utf8.RuneCountInString(text[:strings.Index(text, word)]) + 1 }
		must.Equal(t, p.Position(place(p.Text)), place(p.SQL), "%s: its place in %q", word, p.Text)
	}
}
