package proxy

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"isovet/internal/sqlstmt"
	"isovet/internal/sqltext"
)

// fromClient copies the client's messages to the server. It changes the texts of statements that must return versions.
func (s *session) fromClient() error {
	for {
		kind, n, err := s.client.head()
		if err != nil {
			return err
		}
		switch kind {
		case 'Q', 'P', 'B', 'D', 'E', 'C', 'S', 'F':
			err = s.request(kind, n)
		case 'c', 'f': // the end of a COPY's data
			s.mu.Lock()
			if s.copying = false; len(s.queue) > 0 {
				s.queue[len(s.queue)-1].copied = true
			}
			s.mu.Unlock()
			fallthrough
		default:
			err = s.client.pass(s.server, kind, n)
		}
		if err != nil {
			return err
		}
		if !s.client.whole() {
			if err := s.server.w.Flush(); err != nil {
				return err
			}
		}
	}
}

// request handles a message that the server will answer.
func (s *session) request(kind byte, n int) error {
	e := &entry{kind: kind}
	body, err := s.client.read(n)
	if err == nil {
		body, err = s.hear(e, body)
	}
	if err != nil {
		return err
	}
	if e.types != nil { // the server closes what is not there
		kind, body = 'C', []byte("Sisovet\x00")
	}
	return s.server.send(kind, body) // without mu: the server may take it only when the client has taken answers
}

// hear queues a message that the server will answer, and returns the body to send.
func (s *session) hear(e *entry, body []byte) (_ []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = nil
	if s.records && s.log == nil {
		if !s.greeted && s.flush(false) == nil { // the client has not waited for it
			s.wait(func() bool { return !s.greeted })
		}
		s.guard(func() { s.log = s.p.o.Log.NewClient(s.ask) })
	}
	c := cutter{rest: body}
	switch e.kind {
	case 'Q':
		body, err = s.query(e, body)
	case 'P':
		body = s.parse(e, body)
	case 'B':
		body = s.bind(e, body)
	case 'D', 'C':
		what := c.take(1)
		name := c.text()
		s.named(e, what, name)
	case 'E':
		body, err = s.execute(e, body)
	case 'S':
		err = s.sync(e)
		s.guard(func() { s.log.Opens(false) })
	case 'F':
		if s.records {
			s.p.o.Log.Miss("a function call of the protocol's", "isovet does not see its effect", true)
		}
	}
	if s.refusal != nil { // the server refuses what is no SQL, and no function
		refused := map[byte]string{'Q': "isovet\x00", 'P': e.name + "\x00isovet\x00\x00\x00",
			'F': strings.Repeat("\x00", 10)}
		if b := refused[e.kind]; b != "" {
			e.refuse, body = s.refusal, []byte(b)
		}
	}
	if err != nil {
		return nil, err
	}
	if e.kind == 'S' && !s.copying || e.kind != 'S' && !s.skip { // else the server will ignore it
		s.skip, s.queue = false, append(s.queue, e)
	}
	s.stall(e)
	return body, nil
}

// stall delays a statement with the configured probability.
func (s *session) stall(e *entry) {
	if e.run == nil || s.p.o.Stall <= 0 || rand.Float64() >= s.p.o.Stall {
		return
	}
	_ = s.flush(false)
	s.mu.Unlock()
	time.Sleep(rand.N(s.p.o.StallFor))
	s.mu.Lock()
}

// query handles a message Query of the simple protocol.
func (s *session) query(e *entry, body []byte) ([]byte, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	s.ran++
	sql := string(bytes.TrimSuffix(body, []byte{0}))
	if e.plan = s.plan(sql); e.plan != nil && e.plan.Rewritten() {
		body = append([]byte(e.plan.Text), 0)
	}
	if !s.skip {
		e.before = s.prepared[""]
		delete(s.prepared, "")
	}
	s.start(e, nil)
	return body, nil
}

// executed returns the prepared statement that an SQL EXECUTE runs, or whose portal a FETCH reads. It returns nil if
// none of these was rewritten.
func (s *session) executed(plan *sqlstmt.Plan) *prepared {
	name, fetch := plan.Runs()
	st := s.prepared[name]
	if p := s.portals[name]; fetch && p != nil {
		st = &prepared{plan: p.st.plan, fetch: true}
	} else if fetch || name == "" {
		return nil
	}
	if st != nil && st.plan != nil && st.plan.Rewritten() {
		return st
	}
	return nil
}

func (s *session) parse(e *entry, body []byte) []byte {
	c := cutter{rest: body}
	e.name = c.text()
	sql := c.text()
	types := c.rest
	n := c.int16()
	e.st = &prepared{}
	for range n {
		e.st.oids = append(e.st.oids, uint32(c.int32()))
	}
	if c.bad {
		return body // the server says what is wrong
	}
	if e.st.plan = s.plan(sql); e.st.plan == nil {
	} else if st := s.executed(e.st.plan); st != nil {
		e.st.plan, e.st.fetch = st.plan, st.fetch
	} else if e.st.plan.Rewritten() {
		body = append([]byte(e.name+"\x00"+e.st.plan.Text+"\x00"), types...)
	}
	if !s.skip {
		e.before = s.prepared[e.name]
		s.prepared[e.name] = e.st
		s.guard(func() { s.log.Opens(true) })
	}
	return body
}

func (s *session) bind(e *entry, body []byte) []byte {
	c := cutter{rest: body}
	name, of := c.text(), c.text()
	_ = s.settle() // else its snapshot may be older than the end of what runs; s.ended has the error
	s.sure(of)
	p := &portal{st: s.prepared[of], at: s.ran}
	e.st = p.st
	formats := make([]int, max(c.int16(), 0))
	for i := range formats {
		formats[i] = c.int16()
	}
	for i := range max(c.int16(), 0) {
		v, null := c.value()
		if c.bad {
			break
		}
		format, oid := 0, uint32(0)
		if len(formats) == 1 {
			format = formats[0]
		} else if i < len(formats) {
			format = formats[i]
		}
		if p.st != nil && i < len(p.st.oids) {
			oid = p.st.oids[i]
		}
		p.args = append(p.args, sqlstmt.Arg{Value: argument(v, null, format, oid)})
	}
	at := len(body) - len(c.rest)
	results := c.int16()
	if one := c; results == 1 {
		p.format = int16(one.int16())
	}
	if s.skip {
		return body
	}
	s.guard(func() { s.log.Opens(true) })
	delete(s.portals, name)
	if c.bad || p.st == nil {
		return body
	}
	s.portals[name] = p
	if plan := p.st.plan; plan != nil && plan.Rewritten() && results > 1 {
		if !plan.Returns() { // for the program it has no column
			results, c.rest = 0, nil
		}
		out := binary.BigEndian.AppendUint16(bytes.Clone(body[:at]), uint16(results+plan.Hidden))
		return append(append(out, make([]byte, 2*plan.Hidden)...), c.rest...)
	}
	return body
}

// unreadable is an argument in a form that the proxy cannot read.
type unreadable struct{}

// argument returns the value of a parameter.
func argument(v []byte, null bool, format int, oid uint32) any {
	switch {
	case null:
		return nil
	case format == 0, oid == 25, oid == 1043:
		return string(v)
	case oid == 20 || oid == 21 || oid == 23:
		if n, ok := sqlstmt.Integer(v); ok {
			return n
		}
	case oid == 2950 && len(v) == 16:
		return [16]byte(v)
	}
	return unreadable{}
}

// sure waits until it is known which statement a name means: what changes that may fail, or be ignored up to a Sync.
func (s *session) sure(name string) {
	unsure := func() bool {
		at := slices.IndexFunc(s.queue, func(e *entry) bool {
			return e.name == name && strings.IndexByte("PCQ", e.kind) >= 0
		})
		return at >= 0 && slices.ContainsFunc(s.queue[at:], func(e *entry) bool { return e.kind == 'S' })
	}
	if unsure() && s.flush(false) == nil {
		s.wait(unsure)
	}
}

// named finds the statement or portal of a Describe or Close.
func (s *session) named(e *entry, what []byte, name string) {
	if len(what) != 1 || s.skip {
		return
	}
	if what[0] == 'S' {
		s.sure(name)
		e.st = s.prepared[name]
	} else if p := s.portals[name]; p != nil {
		e.st = p.st
	}
	if p := planned(e); e.kind == 'D' && s.aborted && what[0] == 'S' && p != nil && p.Rewritten() && !p.Returns() {
		e.types = e.st.types // the server would refuse to tell them, because of the added columns
	}
	if e.kind != 'C' {
		return
	}
	if what[0] == 'S' {
		e.name, e.before = name, s.prepared[name]
		delete(s.prepared, name)
	} else {
		delete(s.portals, name)
	}
}

func (s *session) execute(e *entry, body []byte) ([]byte, error) {
	if err := s.settle(); err != nil {
		return nil, err
	}
	s.ran++
	c := cutter{rest: body}
	name := c.text()
	p := s.portals[name]
	if p == nil || c.bad || p.st.plan == nil {
		return body, nil
	}
	most := c.int32()
	e.of = p
	if p.whole && p.parts {
		if e.part = most; most <= 0 {
			e.part = math.MaxInt
		}
		return body, nil
	}
	e.plan, e.more, e.format, p.ran = p.st.plan, p.ran, p.format, true
	p.at++
	e.res.Unseen = p.st.fetch || p.at != s.ran // its rows do not show what other statements did since its Bind
	next, _ := s.client.r.Peek(min(1, s.client.r.Buffered()))
	e.alone = s.log != nil && !s.log.Within(s.explicit) && !s.implicit && string(next) == "S"
	s.start(e, p.args)
	parts := most > 0 && name == "" && !p.st.fetch && e.plan.Drain() && e.plan.Returns() && e.run != nil
	if parts && string(next) != "B" { // what that binds must not see the writes while rows are left
		e.part, p.parts = most, true
		body = make([]byte, 5) // asks for all rows; SQL cannot FETCH from a portal without a name
	}
	if e.plan.Rewritten() && !e.plan.Returns() { // the program expects no rows, and so no end of a part of them
		body = append([]byte(name), 0, 0, 0, 0, 0)
		if p.whole && !s.aborted { // without rows it could not run again; the server has no portal isovet
			e.refuse = []byte("SERROR\x00VERROR\x00C55000\x00Mportal \"" + name + "\" cannot be run\x00\x00")
			body = []byte("isovet\x00\x00\x00\x00\x00")
		}
	}
	return body, nil
}

// sync handles a message Sync. It announces the commit of an implicit transaction before others can read its writes.
func (s *session) sync(e *entry) error {
	if !s.implicit {
		return nil
	}
	if err := s.settle(); err != nil || !s.implicit || s.copying {
		return err
	}
	s.implicit, e.plan = false, sqlstmt.Control(sqltext.Commit, "")
	s.start(e, nil)
	return nil
}
