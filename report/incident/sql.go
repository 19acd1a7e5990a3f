package incident

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"isovet/history"
	"isovet/internal/escape"
)

// mostScripts bounds the sessions: nobody can play more by hand.
const mostScripts = 16

// setup writes the statements to run first: tables and rows.
func (x *Incident) setup(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s: %s\n-- Run this first, in a database of its own.\n\n", escape.Line(x.Database.Name),
		x.Anomaly)
	for _, q := range slices.Concat(x.Database.Tables, x.rows, x.Database.Setup, x.Database.After) {
		fmt.Fprintf(&b, "%s;\n", q)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// session writes the statements of session n, counted from 0. Comments say where to wait for another session.
func (x *Incident) session(w io.Writer, n int) error {
	ls, sessions := lines(x.order)
	var b strings.Builder
	at := ""
	if i := slices.IndexFunc(ls, func(l line) bool { return l.session == n }); len(x.Database.Nodes) > 1 && i >= 0 {
		at = ", on " + escape.Line(x.order[i].Node)
	}
	fmt.Fprintf(&b, "-- %s: %s\n-- Session %d of %d%s. The statements of all sessions are numbered: run them in this "+
		"order.\n", escape.Line(x.Database.Name), x.Anomaly, n+1, sessions, at)
	if len(x.events) == 0 && x.Replay != nil {
		b.WriteString("-- This order did not repeat the violation: some of them have to run at the same moment.\n")
	}
	b.WriteByte('\n')
	for _, s := range x.Database.Settings {
		if s.Refused == "" {
			fmt.Fprintf(&b, "%s;\n", s.SQL)
		}
	}
	for _, q := range x.Database.Session {
		fmt.Fprintf(&b, "%s;\n", q)
	}
	last := 0 // the number of this session's last statement
	for _, l := range ls {
		if l.session != n {
			continue
		}
		b.WriteByte('\n')
		if l.n > last+1 {
			before := ls[l.n-2]
			if end := x.order[l.n-2].End; end != history.NoTime && end > x.order[l.n-1].Start {
				fmt.Fprintf(&b, "-- wait until session %d has sent statement %d, which "+
					"waits\n", before.session+1, before.n)
			} else {
				fmt.Fprintf(&b, "-- wait until session %d has finished statement %d\n", before.session+1, before.n)
			}
		}
		for i, q := range l.text {
			if i == 0 {
				fmt.Fprintf(&b, "%s; -- %d\n", q, l.n)
			} else {
				fmt.Fprintf(&b, "%s;\n", q)
			}
		}
		if l.waits != "" {
			fmt.Fprintf(&b, "-- this statement waits (it is %s): go on with the other sessions\n", l.waits)
		}
		if l.got != "" {
			fmt.Fprintf(&b, "-- result: %s\n", escape.Line(l.got))
		}
		last = l.n
	}
	_, err := io.WriteString(w, b.String())
	return err
}
