package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"isovet/collect/driver"
	"isovet/internal/slice"
)

// execMode is the way of sending statements with values by PostgreSQL's protocol.
type execMode uint8

const (
	anyMode    execMode = iota // operations by key prepared once a session, those with conditions as text
	simpleMode                 // all as text, by the simple protocol
	unnamed                    // all by the extended protocol, parsed each time
	cached                     // all prepared once a session
	merging                    // as anyMode, and rows are written by MERGE
)

// execModes has the modes as parameters of a URL. The first name and its values are those of the client library pgx.
var execModes = [...]string{"", "default_query_exec_mode=simple_protocol", "default_query_exec_mode=exec",
	"default_query_exec_mode=cache_statement", "upsert=merge"}

// takeMode takes the mode out of the parameters for the server.
func (p *server) takeMode(cfg *pgconn.Config) error {
	given := ""
	for _, name := range []string{"default_query_exec_mode", "upsert"} {
		v, ok := cfg.RuntimeParams[name]
		if !ok {
			continue
		}
		delete(cfg.RuntimeParams, name)
		if given != "" {
			return fmt.Errorf("%s beside %s; expected one of them", name, given)
		}
		if err := p.Send(name + "=" + v); err != nil {
			return err
		}
		given, p.asked = name, p.mode
	}
	return nil
}

// Ways returns the modes as parameters of a URL. If the URL names one, there are none. MERGE is PostgreSQL 15's.
func (p *server) Ways() (all []string) {
	if p.asked != anyMode {
		return nil
	}
	release := 0
	if _, err := fmt.Sscanf(p.info.Name, "PostgreSQL %d", &release); err != nil || release < 15 {
		return execModes[simpleMode:merging]
	}
	return execModes[simpleMode:]
}

// Send sets the mode for new sessions and loads; "" means the URL's.
func (p *server) Send(way string) error {
	m := slices.Index(execModes[:], way)
	if m < 0 {
		return fmt.Errorf("%s; expected one of %s", way, strings.Join(execModes[1:], ", "))
	}
	if p.mode = execMode(m); p.mode == anyMode {
		p.mode = p.asked
	}
	p.info.Statements = execModes[p.mode]
	return nil
}

// sender has a session's prepared statements or, if it prepares none, their texts.
type sender struct {
	texts  map[string]string // texts by name, if they are not prepared
	byText map[string]string // names by text, of statements prepared during the run
}

func (s *session) prepare(ctx context.Context, all []statement) error {
	for _, st := range all {
		if s.mode == simpleMode || s.mode == unnamed {
			slice.MakeMap(&s.texts)
			s.texts[st.name] = st.sql
			continue
		}
		if _, err := s.c.Prepare(ctx, st.name, st.sql, nil); err != nil {
			return err
		}
	}
	return nil
}

// exec runs one of the session's own statements and calls row with each row.
func (s *session) exec(name string, args int, row func(v [][]byte) error) error {
	switch s.mode {
	case simpleMode:
		return s.say(written(s.texts[name], s.args[:args]), row)
	case unnamed:
		return read(s.c.ExecParams(context.Background(), s.texts[name], s.args[:args], nil, nil, nil), row)
	}
	return read(s.c.ExecPrepared(context.Background(), name, s.args[:args], nil, nil), row)
}

// written returns a statement with its values written into it as quoted text. The statement casts them.
func written(q string, args [][]byte) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(q, "$")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if v := args[rest[0]-'1']; v == nil {
			b.WriteString("null")
		} else {
			b.WriteString("'" + string(v) + "'")
		}
		q = rest[1:]
	}
}

// read calls row with each row of an answer.
func read(r *pgconn.ResultReader, row func(v [][]byte) error) error {
	var bad error
	for r.NextRow() {
		if bad == nil {
			bad = row(r.Values())
		}
	}
	_, err := r.Close()
	return errors.Join(err, bad)
}

// say runs a statement by the simple protocol.
func (s *session) say(q string, row func(v [][]byte) error) error {
	m := s.c.Exec(context.Background(), q)
	var bad error
	for m.NextResult() {
		for r := m.ResultReader(); r.NextRow(); {
			if bad == nil {
				bad = row(r.Values())
			}
		}
	}
	return errors.Join(m.Close(), bad)
}

// AskInts runs a statement whose rows are integers.
func (s *session) askInts(q string, row func([]int64) error) error {
	var ints []int64
	each := func(values [][]byte) error {
		ints = ints[:0]
		for _, v := range values {
			n, err := strconv.ParseInt(string(v), 10, 64)
			if err != nil {
				return err
			}
			ints = append(ints, n)
		}
		return row(ints)
	}
	if s.mode == unnamed || s.mode == cached {
		return s.lifted(q, each)
	}
	return s.say(q, each)
}

// lifted runs a statement with its numbers as parameters. In a MERGE it leaves them, because there the server cannot
// find the parameters' types.
func (s *session) lifted(q string, row func([][]byte) error) error {
	ctx := context.Background()
	var args [][]byte
	if !strings.HasPrefix(q, "merge") {
		text, numbers := driver.Lift(q, true)
		for _, n := range numbers {
			args = append(args, strconv.AppendInt(nil, n, 10))
		}
		q = text
	}
	if s.mode == unnamed || args == nil {
		return read(s.c.ExecParams(ctx, q, args, nil, nil, nil), row)
	}
	name, ok := s.byText[q]
	if !ok && len(s.byText) == driver.MostPrepared {
		return read(s.c.ExecParams(ctx, q, args, nil, nil, nil), row)
	}
	if !ok {
		name = "where " + strconv.Itoa(len(s.byText))
		if _, err := s.c.Prepare(ctx, name, q, nil); err != nil {
			return err
		}
		slice.MakeMap(&s.byText)
		s.byText[q] = name
	}
	return read(s.c.ExecPrepared(ctx, name, args, nil, nil), row)
}
