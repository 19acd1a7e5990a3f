package sqlstmt

import (
	"fmt"
	"testing"
)

type numbered struct{ Number uint16 }

func (e *numbered) Error() string { return fmt.Sprint("Error ", e.Number) }

// TestOutcomes has errors of MySQL: the statement had no effect, and the server ended the transaction.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		number         uint16
		aborted, ended bool
	}{{1213, true, true}, {1206, true, true}, {1020, true, true}, {1205, true, false}, {1062, true, false},
		{2013, false, false}} { // a connection lost during the query
		err := fmt.Errorf("update: %w", &numbered{c.number})
		if Aborted(err) != c.aborted || rolledBack(err) != c.ended {
			t.Errorf("%v: aborted %v, rolled back %v", err, Aborted(err), rolledBack(err))
		}
	}
}
