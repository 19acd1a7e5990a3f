package sqlstmt

import (
	"errors"
	"reflect"
	"slices"
	"strings"
)

// Aborted reports whether an error of a commit, or of another statement, shows that it had no effect. It knows the
// SQLSTATE of PostgreSQL and others (method SQLState of pgx and lib/pq), the numbers of MySQL and MariaDB (field
// Number), and SQLite's result codes (method Code). After any other error, in particular a lost connection or a
// time-out, the statement may have had an effect.
func Aborted(err error) bool {
	if s := state(err); s != "" {
		switch {
		case len(s) < 2 || s == "40003":
			return false // "statement completion unknown"
		case s == "57014":
			return true // cancelled, or at statement_timeout's end
		}
		switch s[:2] {
		case "08", "57", "58", "XX": // connection, operator intervention, system, internal
			return false
		}
		return true
	}
	var code interface{ Code() int }
	if errors.As(err, &code) {
		// busy, locked, constraint, error, abort, too big, mismatch, range; one that is interrupted (9) may be rolled
		// back with its transaction
		return slices.Contains([]int{5, 6, 19, 1, 4, 18, 20, 25}, code.Code()&0xff)
	}
	switch number(err) {
	case 1213, 1205, 1206, 1020, 1062, 1048, 1452, 1451, 1216, 1217, 3819, 4025, syntaxError, 1054, 1146, 1792, 1290,
		1264, 1292, 1364, 1365, 1366, 1406, 1644, 1690:
		// deadlock, lock wait, lock table full, row changed, constraints, syntax, no such column or table, read-only,
		// values
		return true
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "commit unexpectedly resulted in rollback") ||
			strings.Contains(e.Error(), "Could not complete operation in a failed transaction") {
			return true
		}
	}
	return false
}

// syntaxError is MySQL's number of a statement that it has not understood: it has done nothing.
const syntaxError = 1064

// state returns the SQLSTATE of an error of PostgreSQL's, otherwise "".
func state(err error) string {
	var e interface{ SQLState() string }
	if errors.As(err, &e) {
		return e.SQLState()
	}
	var f interface{ Field(byte) string } // of bun's driver
	if errors.As(err, &f) {
		return f.Field('C')
	}
	return ""
}

// hasState reports whether an error is PostgreSQL's. After it a transaction does nothing until it is rolled back.
func hasState(err error) bool { return state(err) != "" }

// number returns the number of an error of MySQL's or MariaDB's, otherwise 0.
func number(err error) uint64 {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if n := reflect.Indirect(reflect.ValueOf(e)); n.Kind() == reflect.Struct {
			if f := n.FieldByName("Number"); f.IsValid() && f.CanUint() {
				return f.Uint()
			}
		}
	}
	return 0
}

// rolledBack reports whether an error says that MySQL or MariaDB has rolled the whole transaction back. 1205 says so
// if a setting says it.
func (m *mysql) rolledBack(err error) bool {
	n := number(err)
	return n == 1213 || n == 1206 || n == 1020 || n == 1205 && m.aborts
}
