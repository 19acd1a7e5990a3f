package proxy

import (
	"bytes"
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"isovet/internal/sqlstmt"
	"isovet/internal/sqltext"
)

// fromServer copies the server's messages to the client, without the added columns.
func (s *session) fromServer() error {
	for {
		kind, n, err := s.server.head()
		if err != nil {
			return errors.Join(err, s.client.w.Flush())
		}
		switch kind {
		case 'A', 'S', 'K', 'd', 'c', 'v': // at any time, or much
			err = s.server.pass(s.client, kind, n)
		default:
			err = s.reply(kind, n)
		}
		if err != nil {
			return err
		}
		if !s.server.whole() {
			if err := s.client.w.Flush(); err != nil {
				return err
			}
		}
	}
}

// first returns the entry that the server is answering, or nil.
func (s *session) first() *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) == 0 {
		return nil
	}
	return s.queue[0]
}

// reply passes on a message that answers a request.
func (s *session) reply(kind byte, n int) error {
	e := s.first()
	if kind == 'D' && e != nil && e.kind != askKind && (e.plan == nil || !e.plan.Rewritten()) && e.hidden == 0 {
		return s.server.pass(s.client, kind, n) // rows, which need not fit memory
	}
	body, err := s.server.read(n)
	if err != nil {
		return err
	}
	switch {
	case e == nil:
		if kind == 'R' {
			body = withoutBinding(body)
		}
		s.done(e, kind, body)
		return s.client.send(kind, body)
	case e.kind == askKind:
		s.answered(e, kind, body)
		if kind == 'E' && bytes.Contains(body, []byte("VFATAL\x00")) { // it is about the session
			return s.client.send(kind, body)
		}
		return nil
	}
	if kind == 'D' {
		if body, err = s.row(e, body); err != nil || body == nil {
			return err
		}
		if e.part > 0 {
			e.of.rest = append(e.of.rest, slices.Clone(body))
			return nil
		}
		return s.client.send(kind, body)
	}
	if kind == '3' && e.kind == 'D' {
		s.done(e, 'n', nil)
		return errors.Join(s.client.send('t', e.types), s.client.send('n', nil))
	}
	if kind == 'T' {
		n := hidden(body)
		if p := planned(e); n > 0 && e.kind == 'Q' && (p == nil || !p.Rewritten()) { // of an EXECUTE or a FETCH
			if e.hidden, body = n, cutColumns(body, n); len(body) < 3 {
				return nil // the program expects no rows
			}
		} else if p != nil && p.Rewritten() {
			switch {
			case n == 0:
				s.mu.Lock() // SQL's PREPARE has given its name to another statement
				if e.plan = nil; e.st != nil {
					e.st.plan = nil
				}
				s.mu.Unlock()
			case p.Returns():
				if body = cutColumns(body, p.Hidden); body == nil {
					return errLength
				}
			case e.kind == 'D':
				s.done(e, kind, body)
				return s.client.send('n', nil)
			default:
				return nil
			}
		}
	}
	if kind == 'E' && e.refuse != nil {
		body = e.refuse
	}
	s.done(e, kind, body)
	if kind == 'C' && e.part > 0 {
		n := min(e.part, len(e.of.rest))
		for _, row := range e.of.rest[:n] {
			if err := s.client.send('D', row); err != nil {
				return err
			}
		}
		if e.of.rest = e.of.rest[n:]; n == e.part {
			return s.client.send('s', nil)
		}
		body = append(strconv.AppendInt(body[:bytes.LastIndexByte(body, ' ')+1], int64(n), 10), 0)
	}
	if p := planned(e); (kind == 'E' || kind == 'N') && p != nil && p.Rewritten() {
		body = positioned(body, p)
	}
	return s.client.send(kind, body)
}

var digits = regexp.MustCompile(`\d+`)

// positioned returns an ErrorResponse or a notice whose position refers to the text that the program sent, and whose
// numbers of columns do.
func positioned(body []byte, p *sqlstmt.Plan) []byte {
	has := func(field string) bool { return bytes.Contains(body, []byte("\x00"+field+"\x00")) }
	counts := has("RPortalSetResultFormat") || has("C42P10") && has("RfindTargetlistEntrySQL92") // ORDER BY 99
	c := cutter{rest: body}
	var out []byte
	for {
		kind := c.take(1)
		if len(kind) == 0 || kind[0] == 0 {
			return append(out, kind...)
		}
		text := c.text()
		if n, err := strconv.Atoi(text); kind[0] == 'P' && err == nil {
			text = strconv.Itoa(p.Position(n))
		} else if kind[0] == 'M' && counts {
			text = digits.ReplaceAllStringFunc(text, func(n string) string {
				i, _ := strconv.Atoi(n)
				return strconv.Itoa(i - p.Hidden)
			})
		}
		out = append(append(append(out, kind...), text...), 0)
	}
}

// planned returns the plan of an entry's statement.
func planned(e *entry) *sqlstmt.Plan {
	if e.plan == nil && e.st != nil {
		return e.st.plan
	}
	return e.plan
}

// row removes the added columns from a row. It returns nil if the program wants no rows.
func (s *session) row(e *entry, body []byte) ([]byte, error) {
	n := e.hidden
	if n == 0 {
		n = e.plan.Hidden
	}
	row, values := cutRow(body, n, e.format)
	if row == nil {
		return nil, errLength
	}
	e.res.Add(values)
	if len(row) < 3 { // no column is left
		return nil, nil
	}
	return row, nil
}

// done handles a message that ends an answer.
func (s *session) done(e *entry, kind byte, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case 'E':
		s.failed(failureOf(body))
		return
	case 'Z':
		s.ready(e, body)
		return
	}
	if e == nil {
		return
	}
	switch {
	case e.kind == 'Q' || e.kind == 'S' || e.kind == 'F':
		if kind == 'C' {
			s.completed(e, body)
			e.res.All, e.hidden = !e.res.Unseen, 0
		}
	case e.kind == 'P' && kind == '1', e.kind == 'B' && kind == '2', e.kind == 'C' && kind == '3',
		e.kind == 'D' && (kind == 'T' || kind == 'n'):
		s.bound = s.bound || e.kind == 'B'
		s.pop()
	case e.kind == 'E' && kind == 'G': // the server ignores each Sync before the end of the data
		e.alone = false
		for s.copying = !e.copied; s.copying && len(s.queue) > 1 && s.queue[1].kind == 'S'; {
			s.copying = !s.queue[1].copied
			s.queue = slices.Delete(s.queue, 1, 2)
		}
		s.changed.Broadcast()
	case e.kind == 'D' && kind == 't': // the types of a statement's parameters
		c := cutter{rest: body}
		var oids []uint32
		for range c.int16() {
			oids = append(oids, uint32(c.int32()))
		}
		if !c.bad && e.st != nil {
			e.st.oids, e.st.types = oids, bytes.Clone(body)
		}
	case e.kind == 'E' && (kind == 'C' || kind == 'I' || kind == 's'):
		if kind == 'C' {
			s.completed(e, body)
			if e.of != nil {
				e.of.whole = true
			}
		}
		e.res.All = kind == 'C' && !e.res.Unseen && !e.more
		if e.alone && e.run != nil {
			s.alone = e // the Sync commits it
		} else {
			s.close(e, nil)
		}
		s.pop()
	}
}

// deallocated finds the names of the statements that an SQL text deallocates, and of the cursors that it declares.
var deallocated = regexp.MustCompile(
	`(?i)\b(?:DEALLOCATE|DECLARE)\s+(?:PREPARE\s+)?(?:"((?:[^"]|"")*)"|([^\s";]+))`)

// completed handles the end of a statement. It forgets statements that the server has deallocated, unless a statement
// with the same name is being parsed, and portals whose names cursors have taken.
func (s *session) completed(e *entry, body []byte) {
	e.res.Tag, e.res.Affected = tagOf(body)
	switch e.res.Tag {
	case "BEGIN", "START TRANSACTION":
		s.implicit, s.block = false, true // it goes on as a block
	case "COMMIT", "ROLLBACK", "PREPARE TRANSACTION":
		s.block, s.aborted = false, false
	}
	all := e.res.Tag == "DEALLOCATE ALL" || e.res.Tag == "DISCARD ALL"
	declares := e.res.Tag == "DECLARE CURSOR"
	if !all && !declares && e.res.Tag != "DEALLOCATE" || e.plan == nil {
		return
	}
	gone, coming := map[string]bool{}, map[string]bool{}
	for _, m := range deallocated.FindAllStringSubmatch(e.plan.SQL, -1) {
		name := strings.ReplaceAll(m[1], `""`, `"`) + strings.ToLower(m[2])
		if gone[name] = !declares; declares {
			delete(s.portals, name)
		}
	}
	for _, later := range s.queue {
		if later.kind == 'P' {
			coming[later.name] = true
		}
	}
	for name := range s.prepared {
		if (all || gone[name]) && !coming[name] {
			delete(s.prepared, name)
		}
	}
}

// ready handles the end of a Query or Sync.
func (s *session) ready(e *entry, body []byte) {
	s.explicit, s.bound, s.skip = len(body) == 1 && body[0] != 'I', false, false
	s.block, s.aborted, s.greeted = s.explicit, len(body) == 1 && body[0] == 'E', true
	s.changed.Broadcast()
	if e != nil && (e.kind == 'Q' || e.kind == 'S' || e.kind == 'F') {
		err := e.err
		if e.kind == 'S' {
			err = s.broken
		}
		s.close(e, err)
		if s.alone != nil {
			s.close(s.alone, nil)
		}
		if e.kind != 'S' && s.implicit && !s.explicit { // on PostgreSQL 18 it may go on
			s.implicit = false
			s.control(sqltext.Commit, s.broken)
		}
		s.broken = nil
		s.pop()
	}
	if !s.explicit && len(s.queue) == 0 { // else one may have been bound for the next transaction
		clear(s.portals)
		if s.log != nil {
			s.guard(s.log.Idle)
		}
	}
}

// answered collects the answer to one of the proxy's own queries.
func (s *session) answered(e *entry, kind byte, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch kind {
	case '1':
		e.rows = nil // of the question before
	case 'D':
		c := cutter{rest: body}
		row := make([]string, max(c.int16(), 0))
		for i := range row {
			v, _ := c.value()
			row[i] = string(v)
		}
		e.rows = append(e.rows, row)
	case 'E':
		f := failureOf(body)
		// The program's statement would fail by it, but has a time limit of its own.
		limit := strings.Contains(f.message, "timeout")
		if e.err = f; s.block && f.state != "25P02" || f.state == "57014" && !limit {
			s.refusal = bytes.Clone(body)
		}
	case 'Z':
		if errors.Is(e.err, errLost) {
			e.err = nil
		}
		s.pop()
		if s.asked != nil {
			close(s.asked)
			s.asked = nil
		}
	}
}

func failureOf(body []byte) *failure {
	f := &failure{}
	c := cutter{rest: body}
	for {
		kind := c.take(1)
		if len(kind) == 0 || kind[0] == 0 {
			return f
		}
		text := c.text()
		switch kind[0] {
		case 'V':
			if text == "PANIC" { // its code does not say that a commit had no effect
				f.state = "XX000"
			}
		case 'C':
			f.state = cmp.Or(f.state, text)
		case 'M':
			f.message = text
		}
	}
}

func tagOf(body []byte) (tag string, affected int64) {
	tag = strings.TrimSuffix(string(body), "\x00")
	affected = -1
	if i := strings.LastIndexByte(tag, ' '); i >= 0 {
		if n, err := strconv.ParseInt(tag[i+1:], 10, 64); err == nil {
			affected, tag = n, strings.TrimSpace(strings.TrimRight(tag[:i], "0123456789 "))
		}
	}
	return tag, affected
}
