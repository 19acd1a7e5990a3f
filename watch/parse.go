package watch

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
	"isovet/timestamp"
)

// parser turns lines into arrivals. Keys and sessions are numbered as they come; a value is a hash of 64 bits of its JSON, null is 0.
type parser struct {
	aion     *timestamp.Aion
	keys     map[string]uint32
	names    []string // key → JSON
	sessions map[int64]uint32
	initial  uint64
	lists    bool
	ordinal  int64
	buf      timestamp.Arrival
}

func newParser(a *timestamp.Aion) *parser {
	return &parser{aion: a, keys: map[string]uint32{}, sessions: map[int64]uint32{}}
}

type lineTxn struct {
	Format  string            `json:"format"`
	Initial json.RawMessage   `json:"initial"`
	Model   string            `json:"model"`
	ID      *int64            `json:"id"`
	Session *int64            `json:"session"`
	Seq     *int64            `json:"seq"`
	Status  string            `json:"status"`
	StartTS *int64            `json:"start_ts"`
	Commit  *int64            `json:"commit_ts"`
	Init    bool              `json:"init"`
	Ops     []json.RawMessage `json:"ops"`
}

// value hashes a value's JSON, blanks taken out.
func value(raw json.RawMessage) (uint64, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return 0, nil
	}
	if raw[0] == '{' { // a row: columns in one order
		var row map[string]json.RawMessage
		if err := json.Unmarshal(raw, &row); err != nil {
			return 0, err
		}
		b, err := json.Marshal(row)
		if err != nil {
			return 0, err
		}
		raw = b
	} else if raw[0] == '"' { // escapes in one way
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return 0, err
		}
		raw = append([]byte{'"'}, s...)
	}
	if h := xxhash.Sum64(raw); h != 0 {
		return h, nil
	}
	return 1, nil
}

func (p *parser) key(raw json.RawMessage) (uint32, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '"' && raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, fmt.Errorf("key %.40s; expected a string or an integer", raw)
	}
	if k, ok := p.keys[string(raw)]; ok {
		return k, nil
	}
	k := uint32(len(p.names))
	p.keys[string(raw)] = k
	p.names = append(p.names, string(raw))
	p.aion.SetInitial(k, p.initial)
	return k, nil
}

// parse returns nil for lines that are no transaction to be judged: a header, the initial transaction. The arrival is valid until the next
// call.
func (p *parser) parse(line []byte) (*timestamp.Arrival, error) {
	var t lineTxn
	if err := json.Unmarshal(line, &t); err != nil {
		return nil, fmt.Errorf("no JSON object of the history format: %w", err)
	}
	if t.Format != "" {
		p.lists = t.Model == "list"
		if len(t.Initial) > 0 {
			v, err := value(t.Initial)
			if err != nil {
				return nil, fmt.Errorf("field %q: %w", "initial", err)
			}
			p.initial = v
		}
		return nil, nil
	}
	a := &p.buf
	*a = timestamp.Arrival{ID: p.ordinal, Session: timestamp.NoSession, Seq: timestamp.NoSeq, Ops: a.Ops[:0], Lists: a.Lists[:0]}
	p.ordinal++
	if t.ID != nil {
		a.ID = *t.ID
	}
	if t.Session != nil && !t.Init {
		n, ok := p.sessions[*t.Session]
		if !ok {
			n = uint32(len(p.sessions))
			p.sessions[*t.Session] = n
		}
		a.Session = n
		if t.Seq != nil {
			a.Seq = *t.Seq
		}
	}
	switch t.Status {
	case "", "committed":
	case "aborted":
		a.NoPart = true
	case "unknown":
		a.NoPart = t.Commit == nil
	default:
		return nil, fmt.Errorf("field %q: %q; expected committed, aborted or unknown", "status", t.Status)
	}
	if !a.NoPart && !t.Init {
		if t.StartTS == nil || t.Commit == nil {
			return nil, fmt.Errorf("transaction %d has not both start_ts and commit_ts; expected the database's timestamps on every committed transaction", a.ID)
		}
		a.Start, a.Commit = *t.StartTS, *t.Commit
	}
	for i, raw := range t.Ops {
		if err := p.op(raw); err != nil {
			return nil, fmt.Errorf("transaction %d, field %q: operation %d: %w", a.ID, "ops", i, err)
		}
	}
	if t.Init {
		for _, op := range a.Ops {
			if op.Kind == history.Append {
				p.aion.AppendInitial(op.Key, op.Val)
			} else {
				p.aion.SetInitial(op.Key, op.Val)
			}
		}
		return nil, nil
	}
	return a, nil
}

func (p *parser) op(raw json.RawMessage) error {
	var f []json.RawMessage
	if err := json.Unmarshal(raw, &f); err != nil || len(f) < 3 {
		return fmt.Errorf("%.60s; expected [kind, key, value]", raw)
	}
	a := &p.buf
	kind := string(bytes.TrimSpace(f[0]))
	if kind == `"pr"` || kind == `"pw"` {
		return fmt.Errorf("a predicate operation; watch checks registers and lists")
	}
	k, err := p.key(f[1])
	if err != nil {
		return err
	}
	op := timestamp.ArrivalOp{Key: k}
	v := bytes.TrimSpace(f[2])
	switch {
	case kind == `"r"` && (len(v) > 0 && v[0] == '[' || p.lists):
		op.Kind, op.Val = history.ReadList, uint64(len(a.Lists))
		var elems []json.RawMessage
		if err := json.Unmarshal(v, &elems); err != nil {
			return err
		}
		list := make([]uint64, len(elems))
		for i, e := range elems {
			if list[i], err = value(e); err != nil {
				return err
			}
		}
		a.Lists = append(a.Lists, list)
	case kind == `"r"`, kind == `"w"`, kind == `"a"`:
		op.Kind = map[string]history.OpKind{`"r"`: history.Read, `"w"`: history.Write, `"a"`: history.Append}[kind]
		if op.Val, err = value(f[2]); err != nil {
			return err
		}
	default:
		return fmt.Errorf("kind %s; expected r, w or a", kind)
	}
	a.Ops = append(a.Ops, op)
	return nil
}
