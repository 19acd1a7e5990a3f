package evidence

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/level"
)

// ReadCertificate reads a certificate of history h. It does not check the claims; package certify does. Errors, of type
// *[history.InputError], say what is wrong with the file, or that it is about another history. Cost: the hash of the
// history, and about 20 ns per id of the order if ids are dense.
func ReadCertificate(r io.Reader, h *history.History) (*Result, error) {
	c := &certificateReader{in: bufio.NewReaderSize(r, 1<<14), h: h, ids: &ids{h: h}}
	line, err := c.next()
	if err != nil {
		return nil, err
	}
	var head certificateHeader
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, c.jsonError(err)
	}
	if head.Format != certificateFormat {
		return nil, c.errorf("format", "%q; expected %q", head.Format, certificateFormat)
	}
	if head.Version != certificateVersion {
		return nil, c.errorf("version", "%d; expected %d", head.Version, certificateVersion)
	}
	if about := head.History; about.Txns != h.NumTxns() || about.Ops != h.NumOps() {
		return nil, c.errorf("history", "the certificate is for another history: %s with %d transactions and %d "+
			"operations, not %d and %d",
			about.Name, about.Txns, about.Ops, h.NumTxns(), h.NumOps())
	} else if hash := ContentHash(h); hash != about.SHA256 {
		return nil, c.errorf("history", "the certificate is for another history, %s, of the same size: its hash is "+
			"%s, not %s", about.Name, about.SHA256, hash)
	}
	name, stamped := strings.CutPrefix(head.Level, timestampMark)
	l, err := level.ParseMixed(name)
	if err != nil {
		return nil, c.errorf("level", "%v", err)
	}
	if head.ReadsAt != "" && head.ReadsAt != atStart {
		return nil, c.errorf("read_only_at", "%q; expected %q", head.ReadsAt, atStart)
	}
	res := &Result{Verdict: head.Verdict, Reason: head.Reason, Level: l, Timestamps: stamped,
		ReadOnlyAtStart: head.ReadsAt == atStart, Checker: head.Checker, Solver: head.Solver, Also: head.Also, H: h}
	res.Stats.Txns, res.Stats.Ops, res.Stats.Sessions, res.Stats.Keys = h.NumTxns(), h.NumOps(), h.NumSessions(),
		h.NumKeys()
	if head.Order < 0 || head.Order > 2*h.NumTxns() {
		return nil, c.errorf("order", "%d entries for %d transactions", head.Order, h.NumTxns())
	}
	most := h.NumOps()
	if h.HasPredicates() {
		most *= h.NumKeys()
	}
	if head.Sources < 0 || head.Sources > most {
		return nil, c.errorf("sources", "%d for %d operations", head.Sources, h.NumOps())
	}
	if err := c.order(res, head.Order); err != nil {
		return nil, err
	}
	if err := c.sources(res, head.Sources); err != nil {
		return nil, err
	}
	var raw []certificateAnomaly
	var lines []int
	for range head.Anomalies {
		line, err := c.next()
		if err != nil {
			return nil, err
		}
		raw, lines = append(raw, certificateAnomaly{}), append(lines, c.line)
		if err := json.Unmarshal(line, &raw[len(raw)-1]); err != nil {
			return nil, c.jsonError(err)
		}
	}
	c.findVersions(raw)
	for i := range raw {
		c.line = lines[i]
		a, err := c.anomaly(&raw[i])
		if err != nil {
			return nil, err
		}
		res.Anomalies = append(res.Anomalies, a)
	}
	if line, err := c.read(); err == nil {
		return nil, c.errorf("", "more than the header announces: %.40q", line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return res, nil
}

type certificateReader struct {
	in   *bufio.Reader
	h    *history.History
	ids  *ids
	line int
	key  map[string]uint32            // JSON → key, of the keys that edges name
	ver  map[uint32]map[string]uint32 // key → JSON → version, of the versions that edges name
}

func (c *certificateReader) errorf(field, format string, args ...any) error {
	return &history.InputError{Line: c.line, Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
}

// jsonError returns an error that names the wrong field of the line and what is wrong with it.
func (c *certificateReader) jsonError(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return c.errorf(t.Field, "a JSON %s; expected %s", t.Value, t.Type)
	}
	return c.errorf("", "%v; expected a line of an isovet certificate", err)
}

// read returns the next line that is not blank, or io.EOF.
func (c *certificateReader) read() ([]byte, error) {
	for {
		line, err := c.in.ReadBytes('\n')
		if len(line) > 0 {
			c.line++
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// next is read for a line that must exist.
func (c *certificateReader) next() ([]byte, error) {
	line, err := c.read()
	if errors.Is(err, io.EOF) {
		return nil, c.errorf("", "the certificate ends too early")
	}
	return line, err
}

// order reads n ids. At the snapshot levels the first occurrence of an id is its begin, the second its commit.
func (c *certificateReader) order(r *Result, n int) error {
	r.Order = make([]uint32, 0, n)
	var begun []bool
	if r.Level.Snapshot() || r.Level.IsMixed() {
		begun = make([]bool, c.h.NumTxns())
	}
	for len(r.Order) < n {
		line, err := c.next()
		if err != nil {
			return err
		}
		if line[0] != '[' || line[len(line)-1] != ']' {
			return c.errorf("", "%.40q; expected an array of transaction ids", line)
		}
		for item := range bytes.SplitSeq(line[1:len(line)-1], []byte(",")) {
			item = bytes.TrimSpace(item)
			id, err := strconv.ParseInt(string(item), 10, 64)
			if err != nil || item[0] == '+' {
				return c.errorf("", "%.40q; expected a transaction id", item)
			}
			t, err := c.txn("", id)
			if err != nil {
				return err
			}
			if len(r.Order) == n {
				return c.errorf("order", "more than %d ids", n)
			}
			if begun != nil {
				e := t << 1
				if begun[t] {
					e |= 1
				}
				begun[t] = true
				t = e
			}
			r.Order = append(r.Order, t)
		}
	}
	return nil
}

func (c *certificateReader) sources(r *Result, n int) error {
	var keys map[string]uint32
	for len(r.Sources) < n {
		line, err := c.next()
		if err != nil {
			return err
		}
		var raw [][]json.RawMessage
		if err := json.Unmarshal(line, &raw); err != nil {
			return c.jsonError(err)
		}
		if len(raw) == 0 || len(raw) > n-len(r.Sources) {
			return c.errorf("sources", "found %d entries in the line; expected 1 to %d", len(raw), n-len(r.Sources))
		}
		for _, j := range raw {
			var reader, place, writer *int64
			if len(j) < 3 || len(j) > 4 || json.Unmarshal(j[0], &reader) != nil || json.Unmarshal(j[1],
				&place) != nil || json.Unmarshal(j[2], &writer) != nil || reader == nil || place == nil {
				return c.errorf("sources", "expected [reader, place, writer or null], and also the key for a "+
					"predicate operation")
			}
			ops, err := c.ops("sources", [][2]int64{{*reader, *place}})
			if err != nil {
				return err
			}
			s := Source{Op: ops[0], Key: history.None, Writer: history.None}
			if writer != nil {
				if s.Writer, err = c.txn("sources", *writer); err != nil {
					return err
				}
			}
			switch predicate := c.h.Ops.Kind[s.Op].Predicate(); {
			case predicate != (len(j) == 4):
				return c.errorf("sources", "expected a key for a predicate operation, and none for others")
			case !predicate:
				s.Key = c.h.OpKey(s.Op)
			default:
				if keys == nil {
					keys = make(map[string]uint32, c.h.NumKeys())
					for k := range c.h.Keys {
						keys[c.h.KeyString(uint32(k))] = uint32(k)
					}
				}
				k, ok := keys[string(canonical(j[3]))]
				if !ok {
					return c.errorf("sources", "the history has no key %s", j[3])
				}
				s.Key = k
			}
			r.Sources = append(r.Sources, s)
		}
	}
	return nil
}

func (c *certificateReader) txn(field string, id int64) (uint32, error) {
	t, ok := c.ids.find(id)
	if !ok {
		return 0, c.errorf(field, "the history has no transaction %d", id)
	}
	return t, nil
}

func (c *certificateReader) anomaly(j *certificateAnomaly) (Anomaly, error) {
	a := Anomaly{Kind: j.Kind, Why: j.Why, Text: j.Text}
	if j.Kind == "" {
		return a, c.errorf("kind", "missing")
	}
	if !known(j.Kind) {
		return a, c.errorf("kind", "%q is not an anomaly; expected one such as %s or %s", j.Kind, level.G1c,
			level.LostUpdate)
	}
	var err error
	if a.Txns, err = slice.Try(j.Txns, func(id int64) (uint32, error) { return c.txn("txns", id) }); err != nil {
		return a, err
	}
	if a.Ops, err = c.ops("ops", j.Ops); err != nil {
		return a, err
	}
	dead := func(ops [][2]int64) ([]uint32, error) { return c.ops("dead", ops) }
	if a.Dead, err = slice.Try(j.Dead, dead); err != nil {
		return a, err
	}
	if j.Key != nil {
		if a.Key = c.key[string(j.Key)]; a.Key == history.None {
			return a, c.errorf("key", "the history has no key %s", j.Key)
		}
	} else if a.hasKey(c.h) {
		return a, c.errorf("key", "missing for a predicate operation or a conflict")
	}
	if a.Cycle, err = c.edges(j.Cycle); err != nil {
		return a, err
	}
	a.Cycles, err = slice.Try(j.Cycles, c.edges)
	return a, err
}

func (c *certificateReader) ops(field string, raw [][2]int64) ([]uint32, error) {
	return slice.Try(raw, func(o [2]int64) (uint32, error) {
		t, err := c.txn(field, o[0])
		if err != nil {
			return 0, err
		}
		lo, hi := c.h.TxnOps(t)
		if o[1] < 0 || o[1] >= int64(hi-lo) {
			return 0, c.errorf(field, "transaction %d has %s, and none at place %d", o[0],
				plural.Of(hi-lo, "operation"), o[1])
		}
		return lo + uint32(o[1]), nil
	})
}

func (c *certificateReader) edges(raw []certificateEdge) (out []Edge, err error) {
	for _, j := range raw {
		e := Edge{Dep: j.Dep, Key: history.None, Ver: history.None, Writer: history.None}
		if e.From, err = c.txn("from", j.From); err != nil {
			return nil, err
		}
		if e.To, err = c.txn("to", j.To); err != nil {
			return nil, err
		}
		if j.Writer != nil {
			if e.Writer, err = c.txn("writer", *j.Writer); err != nil {
				return nil, err
			}
		}
		if e.Predicate() {
			t := e.predicateTxn()
			lo, hi := c.h.TxnOps(t)
			if j.Op == nil || *j.Op < 0 || *j.Op >= int64(hi-lo) {
				return nil, c.errorf("op",
					"expected the place of a predicate operation in transaction %d, from 0 to %d", c.h.Txns.ID[t],
					int64(hi-lo)-1)
			}
			e.Op = lo + uint32(*j.Op)
			if k := c.h.Ops.Kind[e.Op]; k != history.PredRead && k != history.PredWrite {
				return nil, c.errorf("op", "operation %d of transaction %d is not a predicate operation", *j.Op,
					c.h.Txns.ID[t])
			}
			if j.Key == nil {
				return nil, c.errorf("key", "missing for a dependency %s", e.Dep)
			}
		}
		if j.Key != nil {
			if e.Key = c.key[string(j.Key)]; e.Key == history.None {
				return nil, c.errorf("key", "the history has no key %s", j.Key)
			}
			if j.Value != nil {
				if e.Ver = c.ver[e.Key][string(j.Value)]; e.Ver == history.None {
					return nil, c.errorf("value", "no operation of the history has the value %s at key %s", j.Value,
						j.Key)
				}
			}
		}
		out = append(out, e)
	}
	return out, nil
}
