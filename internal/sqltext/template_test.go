package sqltext

import (
	"reflect"
	"strings"
	"testing"

	"isovet/internal/test/must"
)

// TestGeneralize: literals become parameters where the text means the same then, and places are found again.
func TestGeneralize(t *testing.T) {
	for _, c := range []struct {
		sql, want string
		lits      []any
	}{
		{"SELECT a FROM t WHERE id = 5", "SELECT a FROM t WHERE id = $1", []any{int64(5)}},
		{"SELECT a1, b FROM t2 WHERE id=-5 AND x IN ('é', 2.5)", "SELECT a1, b FROM t2 WHERE id=$1 AND x IN ($2, $3)",
			[]any{int64(-5), "é", nil}},
		{"UPDATE t SET n = n - 1e-3 WHERE \"5\" = 7 -- 8", "UPDATE t SET n = n - $1 WHERE \"5\" = $2 -- 8",
			[]any{nil, int64(7)}},
		{"SELECT a, 1 FROM t WHERE b = 2 ORDER BY 1 LIMIT 3", "SELECT a, $1 FROM t WHERE b = $2 ORDER BY 1 LIMIT 3",
			[]any{int64(1), int64(2)}},
		{"SELECT a FROM t WHERE b = 2 ORDER BY (SELECT 1 WHERE 2 > 1), 1",
			"SELECT a FROM t WHERE b = $1 ORDER BY (SELECT 1 WHERE 2 > 1), 1", []any{int64(2)}},
		{"SELECT a /* 5 /* 'x */ */ FROM t WHERE b = ''", "SELECT a /* 5 /* 'x */ */ FROM t WHERE b = $1", []any{""}},
		{"SELECT a FROM t WHERE id = $1 AND b = 2", "", nil},
		{"SELECT 'it''s'", "", nil},
		{"SELECT E'a\\'b'", "", nil},
		{"SELECT 'open", "", nil},
		{"SELECT $x$5$x$", "", nil},
		{"SELECT a FROM t", "", nil},
		{"SELECT /* 5", "", nil},
	} {
		got, ok := Generalize(c.sql)
		if !ok {
			got = &Template{}
		}
		if got.Text != c.want || !reflect.DeepEqual(got.Lits, c.lits) {
			t.Errorf("%s: %q %v; expected %q %v", c.sql, got.Text, got.Lits, c.want, c.lits)
		}
		for i := range got.spans {
			s := got.spans[i]
			if got.Place(s.at) != s.from || got.Place(s.end) != s.to {
				t.Errorf("%s: literal %d is at %d to %d; expected %d to %d", c.sql, i, got.Place(s.at),
					got.Place(s.end), s.from, s.to)
			}
		}
		if end := len(got.Text); ok && (got.Place(0) != 0 || got.Place(end) != len(c.sql)) {
			t.Errorf("%s: its end is at %d", c.sql, got.Place(end))
		}
	}
}

func FuzzGeneralize(f *testing.F) {
	f.Add("SELECT a FROM t WHERE id = -5 AND b = 'x' ORDER BY 1")
	f.Fuzz(func(t *testing.T, sql string) {
		g, ok := Generalize(sql)
		if !ok {
			return
		}
		// The text comes back when the literals are put in their places.
		out := g.Text
		for i := len(g.spans) - 1; i >= 0; i-- {
			s := g.spans[i]
			out = out[:s.at] + sql[s.from:s.to] + out[s.end:]
		}
		must.Equal(t, out, sql, "what %q gives", g.Text)
		if n := strings.Count(g.Text, "$"); n < len(g.Lits) {
			t.Errorf("%q: %d parameters of %d literals", g.Text, n, len(g.Lits))
		}
	})
}
