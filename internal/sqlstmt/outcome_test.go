package sqlstmt

import (
	"fmt"
	"testing"

	"isovet/internal/test/must"
)

type numbered struct{ Number uint16 }

func (e *numbered) Error() string { return fmt.Sprint("Error ", e.Number) }

// TestOutcomes has errors of MySQL: the statement had no effect, and the server ended the transaction.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		number         uint16
		aborted, ended bool
	}{{1213, true, true}, {1206, true, true}, {1020, true, true}, {1205, true, false}, {1062, true, false},
		{2013, false, false}} { // a lost connection
		err := fmt.Errorf("update: %w", &numbered{c.number})
		must.Equal(t, [2]bool{Aborted(err), (&mysql{}).rolledBack(err)}, [2]bool{c.aborted, c.ended}, "%v", err)
	}
}

// TestMissed: statements that differ only in names that drivers number are listed as one, and none goes uncounted.
func TestMissed(t *testing.T) {
	var l Log
	for i := range 2500 {
		l.Miss(fmt.Sprintf(`FETCH FORWARD 2 FROM "c_7ffa504983d%d_%d"`, i%7, i), "FETCH", false)
		l.Miss(fmt.Sprintf("SELECT %d", i), "x", false)
	}
	must.Equal(t, fmt.Sprint(len(l.Stats().Missed), l.Stats().NotUnderstood),
		"1001 map[FETCH:2500 more distinct statements than the list holds:1501 x:999]", "listed")
}
