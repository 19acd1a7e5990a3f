package proxy

import (
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"

	"isovet/internal/safego"
	"isovet/internal/sqlstmt"
	"isovet/internal/sqltext"
)

// session is a client's connection and the server's connection for it. Two goroutines copy messages: that of client.go
// to the server, that of server.go to the client. A queue has the sent messages whose answers are still to come.
type session struct {
	p              *Proxy
	client, server *link
	records        bool

	mu      sync.Mutex
	changed sync.Cond // an entry is gone, or the session ends
	queue   []*entry
	skip    bool // the server passes over what comes before the next Sync
	copying bool // the server takes the data of a COPY, and ignores each Sync
	greeted bool // its first ReadyForQuery has come
	bound   bool // it has bound a portal since its last ReadyForQuery: a Sync may commit
	block   bool // a transaction block is open: no Sync commits
	ended   bool

	log      *sqlstmt.Client
	prepared map[string]*prepared
	portals  map[string]*portal
	running  *entry        // the statement that the server is at, of those recorded; nil: none
	explicit bool          // a transaction block was open at the last ReadyForQuery
	aborted  bool          // and the server refused all but its end
	implicit bool          // several statements before one Sync are recorded as a transaction
	broken   error         // what it failed by; nil: it has not failed
	ran      int           // how many statements were sent
	alone    *entry        // a statement by itself, which the next Sync commits
	refusal  []byte        // the server's answer to the proxy's own question that is one to the program's statement
	asked    chan struct{} // closed when the proxy's own question is answered
}

// entry is a message that the server will answer.
type entry struct {
	kind   byte // the message's type; askKind: a question of the proxy's own
	st     *prepared
	before *prepared // what had the name before, of a Parse or Close
	name   string
	plan   *sqlstmt.Plan
	run    *sqlstmt.Run
	alone  bool
	more   bool    // of a portal that has been executed before: the first rows are not among its
	copied bool    // the data of a COPY ended behind it
	part   int     // of a write whose rows the program fetches in parts: how many it wants now
	of     *portal // of an Execute
	format int16   // of the added columns
	hidden int     // of a Query: columns that the server adds to the result of a statement within it
	res    sqlstmt.Result
	err    error
	rows   [][]string // of askKind
	refuse []byte     // the error that the program gets
	types  []byte     // of a Describe that the proxy answers: the ParameterDescription
}

// askKind marks the proxy's own queries.
const askKind = '?'

// prepared is a prepared statement of the extended protocol.
type prepared struct {
	plan  *sqlstmt.Plan
	oids  []uint32 // of parameters, as far as they are known
	types []byte   // the server's ParameterDescription, if it was sent
	fetch bool     // it is an SQL FETCH from a portal of a statement with that plan
}

// portal is a bound statement.
type portal struct {
	st    *prepared
	args  []sqlstmt.Arg
	ran   bool
	parts bool     // the program fetches the rows of a write in parts
	rest  [][]byte // rows that it has not yet fetched
	whole bool     // the server has sent all rows
	at    int      // what session.ran is if no other statement was sent since its Bind
	// format is that of the added columns: 0 is text.
	format int16
}

// failure is an ErrorResponse.
type failure struct{ state, message string }

func (f *failure) Error() string    { return f.message + " (" + f.state + ")" }
func (f *failure) SQLState() string { return f.state }

// errLost ends statements that got no answer. It also says that the proxy cannot query the server: earlier answers are
// still to come, or its Sync might commit.
var errLost = driver.ErrBadConn

// run copies in both directions until one side ends.
func (s *session) run() error {
	var back error
	var other safego.Group
	other.Go(func() {
		back = s.fromServer()
		s.end()
		// The client learns of it by its connection's end, and so does the other goroutine.
		_ = s.client.Close()
	})
	err := s.fromClient()
	s.end()
	// The server ends when it has done what the client has sent, and a client that only sends no more gets the answers.
	c, ok := s.server.Conn.(interface{ CloseWrite() error })
	if s.server.w.Flush() != nil || !ok || c.CloseWrite() != nil {
		_ = s.server.Close()
	}
	other.Wait()
	s.finish()
	if err = errors.Join(notEnd(err), notEnd(back)); err != nil && s.p.stopping() {
		return nil
	}
	return err
}

// notEnd returns nil for errors that only say that a connection has ended.
func notEnd(err error) error {
	if errors.Is(err, errLength) {
		return err
	}
	return nil
}

func (s *session) end() {
	s.mu.Lock()
	s.ended = true
	s.changed.Broadcast()
	if s.asked != nil {
		close(s.asked)
		s.asked = nil
	}
	s.mu.Unlock()
}

// finish records the open statements when both connections have ended.
func (s *session) finish() {
	s.guard(func() {
		if s.log == nil {
			return
		}
		for _, e := range s.queue {
			s.close(e, errLost)
		}
		if s.alone != nil {
			s.close(s.alone, errLost)
		}
		_ = s.log.Close() // the recorder keeps what goes wrong
	})
}

// guard runs a part of the recording. If it panics, guard reports the fault, and the session goes on without recording.
func (s *session) guard(f func()) {
	if !s.records {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			s.log, s.records = nil, false
			s.p.fault(v)
			s.p.o.Log.Miss("the rest of a session", "the recorder failed", true)
		}
	}()
	f()
}

// close ends the recording of a statement.
func (s *session) close(e *entry, err error) {
	if e.run == nil {
		return
	}
	run := e.run
	e.run = nil
	s.guard(func() { run.End(err, &e.res) })
	if s.running == e {
		s.running = nil
	}
	if s.alone == e {
		s.alone = nil
	}
}

// control records a begin or commit that the program sent no statement for.
func (s *session) control(kind sqltext.Kind, err error) {
	s.guard(func() { s.log.Start(sqlstmt.Control(kind, ""), nil, nil).End(err, &sqlstmt.Result{}) })
}

// maxText bounds the length of statements that are parsed.
const maxText = 1 << 20

// plan returns the plan for recording a text, or nil if nothing is recorded.
func (s *session) plan(sql string) (p *sqlstmt.Plan) {
	if !s.records {
		return nil
	}
	if len(sql) > maxText { // an open parenthesis outside of comments does not parse, so it counts as not understood
		sql = strings.ToValidUTF8(sql[:200], "") + "\n… (too long"
	}
	// The server may have to be asked, which it can be when it is at rest.
	_ = s.settle() // the statement would wait for that anyway; s.ended has the error
	n := len(s.queue)
	rests := n == 0 || slices.Contains([]byte{'Q', 'S', 'F'}, s.queue[n-1].kind)
	if rests && s.flush(false) == nil {
		s.wait(func() bool { return len(s.queue) > 0 })
	}
	s.guard(func() { p = s.log.Plan(sql) })
	return p
}

// wait waits while something holds, and the session goes on.
func (s *session) wait(holds func() bool) {
	for holds() && !s.ended {
		s.changed.Wait()
	}
}

// flush sends what waits to be sent, perhaps with a Flush. Meanwhile it does not hold mu: the server may take it only
// when the client has taken what comes from the server.
func (s *session) flush(answer bool) (err error) {
	s.mu.Unlock()
	defer s.mu.Lock()
	if answer {
		err = s.server.send('H', nil)
	}
	return errors.Join(err, s.server.w.Flush())
}

// ask queries the server. Its messages use names of their own, so that the program's unnamed statement and portal
// stay. Only the goroutine that reads from the client may call it, and must hold mu.
func (s *session) ask(sql string, args ...any) ([][]string, error) {
	if len(s.queue) > 0 || s.ended || s.skip || s.bound && !s.block {
		return nil, errLost
	}
	e, asked := &entry{kind: askKind, err: errLost}, make(chan struct{})
	s.queue, s.asked = append(s.queue, e), asked
	var err error
	if !s.block { // up to the Sync
		err = s.question(`SELECT pg_catalog.set_config('statement_timeout', '0', true),
			pg_catalog.set_config('jit', 'off', true)`)
	}
	err = errors.Join(err, s.question(sql, args...), s.server.send('S', nil))
	if err = errors.Join(err, s.server.w.Flush()); err != nil {
		return nil, errLost
	}
	s.mu.Unlock()
	<-asked
	s.mu.Lock()
	return e.rows, e.err
}

// question sends one of the proxy's own queries, without a Sync.
func (s *session) question(sql string, args ...any) (err error) {
	const name = "isovet_ask\x00"
	parse := append([]byte(name+sql+"\x00"), 0, 0)
	bind := append([]byte(name+name), 0, 0)
	bind = binary.BigEndian.AppendUint16(bind, uint16(len(args)))
	for _, a := range args {
		text, _ := a.(string)
		bind = append(binary.BigEndian.AppendUint32(bind, uint32(len(text))), text...)
	}
	bind = append(bind, 0, 0)
	for _, m := range []struct {
		kind byte
		body []byte
	}{{'C', []byte("S" + name)}, // one that failed is still there
		{'P', parse}, {'B', bind}, {'E', append([]byte(name), 0, 0, 0, 0)}, {'C', []byte("P" + name)},
		{'C', []byte("S" + name)}} {
		err = errors.Join(err, s.server.send(m.kind, m.body))
	}
	return err
}

// settle waits until the server has answered the running statement. Only one statement is recorded at a time.
func (s *session) settle() error {
	for s.running != nil && !s.ended && !s.copying {
		was, last := s.running, s.queue[len(s.queue)-1].kind
		if err := s.flush(last != 'S' && last != 'Q'); err != nil { // else the server keeps the answer
			return err
		}
		s.wait(func() bool { return s.running == was && !s.copying })
	}
	if s.ended {
		return io.EOF
	}
	return nil
}

// start begins to record a statement that is about to be sent. If it is the first of several before a Sync, start
// records a begin too.
func (s *session) start(e *entry, args []sqlstmt.Arg) {
	if e.plan == nil || s.skip && e.kind != 'S' {
		return
	}
	s.guard(func() {
		if s.implicit && (e.kind == 'Q' || e.plan.MayCommit()) { // what came before it, unannounced
			s.log.Lost()
		}
		if e.kind == 'E' && !e.alone && e.plan.Concerns() && !s.log.Within(s.explicit) {
			s.implicit = true
			s.control(sqltext.Begin, nil)
		}
		e.run = s.log.Start(e.plan, args, nil)
		s.running = e
	})
}

// restore undoes the effects of a Parse, Close or Query that failed or was ignored. The caller must hold mu.
func (s *session) restore(e *entry) {
	now := s.prepared[e.name]
	if e.kind == 'P' && now == e.st || e.kind != 'P' && now == nil {
		if s.prepared[e.name] = e.before; e.before == nil {
			delete(s.prepared, e.name)
		}
	}
}

// failed handles an error. It removes the messages that the server ignores after it: all before the next Sync.
func (s *session) failed(err *failure) {
	s.copying = false
	if len(s.queue) == 0 {
		return // it comes by itself: the connection ends
	}
	e := s.queue[0]
	s.broken = err
	if e.kind == 'Q' || e.kind == 'S' {
		if e.err = err; e.kind == 'S' && s.alone != nil {
			s.close(s.alone, err)
		}
		return
	}
	s.close(e, err)
	s.guard(func() { s.log.Refused(err) }) // it may be the error of a Parse, a Bind or a function
	if e.kind == 'F' {
		return
	}
	at := slices.IndexFunc(s.queue, func(e *entry) bool { return e.kind == 'S' })
	s.skip = at < 0
	if at < 0 {
		at = len(s.queue)
	}
	for i := at - 1; i >= 0; i-- {
		e := s.queue[i]
		s.restore(e)
		if e.run != nil {
			s.guard(e.run.Dropped)
			e.run = nil
			if s.running == e {
				s.running = nil
			}
		}
	}
	s.queue = s.queue[at:]
	s.changed.Broadcast()
}

// pop removes the first entry. The caller must hold mu.
func (s *session) pop() {
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.changed.Broadcast()
}
