package collect

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"isovet/collect/driver"
	"isovet/internal/test/must"
)

// moody is a store whose every third commit is refused and whose every tenth fails.
type moody struct{ n atomic.Int64 }

type moodyTxn struct{ m *moody }

func (m *moody) Begin() (driver.KVTxn, error) { return moodyTxn{m}, nil }
func (m *moody) Close() error                 { return nil }

func (moodyTxn) Get([]byte) ([]byte, bool, error) { return []byte("0 0"), true, nil }
func (moodyTxn) Put(_, _ []byte) error            { return nil }
func (moodyTxn) Rollback() error                  { return nil }
func (t moodyTxn) Commit() error {
	switch n := t.m.n.Add(1); {
	case n == 1: // the load's
		return nil
	case n%10 == 0:
		return errors.New("the disk does not answer")
	case n%3 == 0:
		return fmt.Errorf("transaction %d of\n user 7: %w", n, driver.ErrConflict)
	}
	return nil
}

// TestAborts: every attempt that did not commit is counted under its reason.
func TestAborts(t *testing.T) {
	m := &moody{}
	driver.RegisterStore(driver.Store{Scheme: "moody", Isolations: []string{"none"},
		Open: func(string, string) (driver.KV, error) { return m, nil }})
	r := must.Get(Run(t.Context(), Config{DB: []string{"moody:"}, Workload: "rmw", Txns: 300, Sessions: 4}))(t)
	s := &r.Summary
	total := 0
	seen := map[string]int{}
	for _, a := range s.Aborts {
		total += a.Count
		seen[a.Class] += a.Count
		switch a.Class {
		case driver.Aborted.String():
			if a.Unknown || !strings.HasPrefix(a.Text, "transaction ") || strings.Contains(a.Text, "\n") {
				t.Errorf("%+v; expected the first text in one line, and a known outcome", a)
			}
		case driver.Unclear.String():
			if !a.Unknown || a.Text != "the disk does not answer" {
				t.Errorf("%+v; expected an unknown outcome", a)
			}
		case AtEnd, ByClient:
		default:
			t.Errorf("%+v; expected no other class", a)
		}
	}
	if total != s.Aborted+s.Unknown || seen[driver.Unclear.String()] != s.Unknown || s.Unknown < 30 {
		t.Errorf("%d attempts counted by reason, %v; the summary has %d aborted and %d unknown", total, seen,
			s.Aborted, s.Unknown)
	}
	if want := seen[driver.Aborted.String()] + s.Unknown; s.Refused() != want || want < 100 {
		t.Errorf("%d refused, expected %d", s.Refused(), want)
	}
	if n := len(s.Aborts); n > 4 {
		t.Errorf("%d reasons: numbers in a text tell none apart: %+v", n, s.Aborts)
	}
}

// TestManyReasons: a database with a new text each time is not kept word by word.
func TestManyReasons(t *testing.T) {
	c := &client{}
	for i := range 10 * mostReasons {
		c.unmade("aborted", "", strings.Repeat("x", i%100)+strings.Repeat("y", i/100), false)
		c.unmade("aborted", "", strings.Repeat("x", i%100)+strings.Repeat("y", i/100), false)
	}
	r := &run{clients: []*client{c, {}}}
	all, total := r.aborts(), 0
	for _, a := range all {
		total += a.Count
	}
	if total != 20*mostReasons || len(all) > mostReasons+1 || all[0].Text != "others" {
		t.Errorf("%d in %d reasons, the first %+v", total, len(all), all[0])
	}
	if s := OneLine("a\x1b[2Jb postgres://u:p@h/ " + strings.Repeat("é", 200)); strings.ContainsAny(s, "\x1b\n") ||
		strings.Contains(s, "u:p") || len(s) > longestReason+len("…") {
		t.Errorf("%q", s)
	}
}
