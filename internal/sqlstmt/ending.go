package sqlstmt

import (
	"strings"

	"isovet/internal/sqltext"
)

// finish is how a transaction ends.
type finish struct {
	err     error
	aborted bool
}

// finished handles COMMIT and ROLLBACK. tag is PostgreSQL's word for what was done, "" where it is not told.
func (c *Client) finished(p *Plan, err error, tag string) {
	sure, chain := err == nil || Aborted(err), p.stmts[0].Chain
	before := err != nil && strings.Contains(err.Error(), "no transaction is active") // an error has ended it in SQLite
	// In SQLite a COMMIT that fails leaves the transaction open, until a driver's Commit rolls it back.
	open := err != nil && !before && (c.l.sqlite && p.SQL != "" || !sure || number(err) == syntaxError)
	how := finish{err: err, aborted: sure && !open && (!before || c.torn)}
	if p.kind() == sqltext.Commit {
		how.aborted = how.aborted && err != nil || c.failed && tag != "COMMIT" || tag == "ROLLBACK"
		if err == nil && c.doubt && tag == "" { // some drivers do not say that COMMIT rolled back
			how.err, open = errUnclear, chain
		}
		how.aborted = how.aborted && !open
	}
	c.end(how, chain)
	c.blind = c.blind || open
}

func (c *Client) end(how finish, chain bool) {
	t, blind := c.t, c.blind
	c.t, c.blind, c.failed, c.torn, c.marks = nil, false, false, false, nil
	c.shown()
	c.undone()
	c.resets, c.alters = false, false
	switch {
	case t == nil:
	case how.aborted:
		_ = t.Abort(nil)
	case how.err != nil:
		_ = t.Unknown()
	default:
		c.l.versions.settle(c.wrote)
		_ = t.Commit(nil)
	}
	for i := 0; i < len(c.unclear) && !how.aborted; i++ {
		c.l.miss(c.unclear[i], "it failed, and may have had an effect")
	}
	c.unclear = nil
	switch {
	case !chain || how.err != nil:
	case blind:
		c.blind = true
	default:
		c.begin(c.level)
	}
}

// Idle says that the database has no transaction open.
func (c *Client) Idle() {
	if c.t != nil || c.blind {
		c.end(finish{err: errUnclear}, false)
	}
}

// several applies the transaction control in a text of several statements. A transaction that begins there is not
// recorded.
func (c *Client) several(p *Plan, err error) {
	for i := range p.stmts {
		switch s := &p.stmts[i]; s.Kind {
		case sqltext.Commit, sqltext.Rollback:
			if err != nil && c.t != nil {
				_ = c.t.Unknown()
				c.t = nil
			}
			c.end(finish{aborted: s.Kind == sqltext.Rollback || c.failed}, s.Chain && err == nil)
			c.blind = c.blind || s.Chain && err != nil // it may be what failed
		case sqltext.Begin:
			c.blind = c.blind || c.t == nil
		case sqltext.Savepoint:
			if c.t != nil { // also before an error behind it
				c.marks = append(c.marks, savepoint{s.Name, c.t.Mark(), len(c.over), len(c.wrote)})
			} else if c.l.sqlite {
				c.blind = true
			}
		case sqltext.RollbackTo, sqltext.Release:
			if c.t != nil && err != nil { // perhaps behind it
				leaves.after(c, nil)
			} else if c.t != nil {
				c.back(s.Kind == sqltext.RollbackTo, s.Name)
			}
		default:
			if s.Level != "" && c.l.is {
				c.level = weakest
			}
		}
	}
}
