// Package large checks certificates about histories that do not fit in memory, as [isovet/check/spill] writes them. It
// shares no code with the checkers whose answers it checks.
//
// # The certificate
//
// It is JSON lines like other certificates (package evidence), in version 2. That of a valid history has the rule by
// which the transactions are ordered and the exceptions to it:
//
//	{"format":"isovet-certificate","version":2,"level":"serializable","verdict":"valid","checker":"replay",
//	 "history":{"name":"parts","txns":3,"ops":12},"rule":"end","exceptions":1}
//	{"txn":7,"place":2,"begin":[1000,1,5],"commit":[1000,1,6],"start":900,"end":990}
//
// A transaction's place is the number of transactions before it in the history. Rule "end" puts a committed transaction
// at position (end, place, 0), or at (start, place, 0) if it has no end. Rule "place", used where real time is not
// asked for, puts it at (place, place, 0). A transaction of unknown outcome takes part only if it is an exception. An
// exception begins and commits at the positions given. At the serializable levels, and where both positions are equal,
// a transaction reads and then writes at its commit; otherwise it reads at its begin. Positions are compared number by
// number. "start" and "end" are the client's times; a missing start is the smallest number, the end of a transaction of
// unknown outcome the largest.
//
// If the header has "implied_by", the order is one of that level, which implies the level asked for. At linearizable it
// keeps real time among all transactions, each of which has one key, and ignores sessions.
//
// If the level begins with "ts:", the verdict is about the database's timestamps. Its rule is "timestamps", without
// exceptions: a transaction reads at its start and installs at its commit timestamp; at the serializable levels it does
// both at the commit, or, where "read_only_at" is "start" and it writes nothing, at the start. At equal timestamps
// installing comes before reading.
//
// That of a violation has the anomalies as in version 1. They are about the transactions named in them; of all other
// transactions they need only the writers of what these read. "with" in the header has the ids of further
// transactions that they need: those that read from a transaction of unknown outcome and so show that it committed.
//
// # What is checked
//
// Of an order: that exceptions take part and that no two transactions share a position; that the order keeps sessions
// and real time where the level asks for them; that no transaction contradicts itself; and, key by key, that each read
// sees the last write before it and, at the snapshot levels, that nobody else committed a write of a key between a
// writer's begin and commit. For this, operations are sorted by key through files. Of a violation: the history of the
// transactions needed is put together, and package certify checks the anomalies against it. If that history violates
// the level, so does the whole one, for it only leaves out transactions and reads that saw what they wrote.
//
// Experimental: this package may still change.
package large

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// Source is a history that can be read from beginning to end as often as needed.
type Source struct {
	Name string
	Txns int64
	// Each calls f with the transactions in batches; first is the place of a batch's first transaction.
	Each func(ctx context.Context, f func(h *history.History, first int64) error) error
}

// Options are the parameters of Verify.
type Options struct {
	Dir       string // for files
	Memory    int64  // bytes to use, about; 0: 1 GiB
	ClockSkew int64  // as certify.Options
	// Progress, if set, is told how far each stage has come.
	Progress func(stage string, done, total int64)
}

// Result is what a certificate claims and whether it proves that.
type Result struct {
	Level   level.Level
	Verdict evidence.Verdict
	Checker string
	// Timestamps is set if the verdict is about the database's timestamps.
	Timestamps bool
	// Refuted is the reason why the certificate does not prove its verdict; nil if it proves it.
	Refuted error
}

type header struct {
	Format  string           `json:"format"`
	Version int              `json:"version"`
	Level   string           `json:"level"`
	Verdict evidence.Verdict `json:"verdict"`
	Checker string           `json:"checker,omitempty"`
	History struct {
		Name string `json:"name,omitempty"`
		Txns int64  `json:"txns"`
		Ops  int64  `json:"ops"`
	} `json:"history"`
	ReadsAt    string `json:"read_only_at,omitempty"`
	ImpliedBy  string `json:"implied_by,omitempty"`
	Rule       string `json:"rule,omitempty"`
	Exceptions int64  `json:"exceptions,omitempty"`
	Anomalies  int64  `json:"anomalies,omitempty"`
	// With has the ids of transactions needed besides those of the anomalies.
	With []int64 `json:"with,omitempty"`
}

// atStart is the only value that read_only_at may have.
const atStart = "start"

// Version is the certificate version that this package reads.
const Version = 2

// Is reports whether a file begins like a certificate of this version: with a JSON object that has the format and the
// version, with any spacing and member order; start may end within the object.
func Is(start []byte) bool {
	d := json.NewDecoder(bytes.NewReader(start))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	format, version := false, false
	for d.More() && !(format && version) {
		name, err := d.Token()
		if err != nil {
			return false
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return false
		}
		switch name {
		case "format":
			format = string(value) == `"isovet-certificate"`
		case "version":
			version = string(value) == strconv.Itoa(Version)
		}
	}
	return format && version
}

// refuted is an error that means that a certificate does not prove its verdict.
type refuted struct{ error }

func refute(format string, args ...any) error { return refuted{fmt.Errorf(format, args...)} }

// Verify reads a certificate and checks it against a history. It returns an error if the files cannot be read; a
// certificate that proves nothing is no error, but Result.Refuted. Cost of checking an order: a pass over the history,
// files of some 30 bytes an operation, sorting these by key; memory as Options says, and for the exceptions. Cost of
// checking a violation: two passes.
func Verify(ctx context.Context, cert io.Reader, s *Source, o Options) (*Result, error) {
	o.Memory = cmp.Or(o.Memory, 1<<30)
	in := &lines{r: bufio.NewReaderSize(cert, 1<<16)}
	line, err := in.next()
	if err != nil {
		return nil, err
	}
	var head header
	if err := json.Unmarshal(line, &head); err != nil {
		return nil, in.errorf("", "%v; expected the header of a certificate", err)
	}
	if head.Format != "isovet-certificate" || head.Version != Version {
		return nil, in.errorf("version", "%q, version %d; expected isovet-certificate, version %d", head.Format,
			head.Version, Version)
	}
	name, byStamps := strings.CutPrefix(head.Level, "ts:")
	l, err := level.Parse(name)
	if err != nil {
		return nil, in.errorf("level", "%v", err)
	}
	if head.ReadsAt != "" && (head.ReadsAt != atStart || !byStamps || !l.Serial()) {
		return nil, in.errorf("read_only_at", "%q; expected %s, of timestamps, at a serializable level", head.ReadsAt,
			atStart)
	}
	order := l
	if head.ImpliedBy != "" {
		if order, err = level.Parse(head.ImpliedBy); err != nil || !order.Implies(l) {
			return nil, in.errorf("implied_by", "%q; expected a level that implies %s", head.ImpliedBy, l)
		}
	}
	if !order.Serial() && !order.Snapshot() && order != level.Linearizable && head.Verdict != evidence.Violated {
		return nil, in.errorf("level", "%s; expected a serializable or snapshot level, linearizable, or one that is "+
			"implied_by these", l)
	}
	if head.History.Txns != s.Txns {
		return nil, in.errorf("history", "the certificate is for another history: %s with %d transactions, not %d",
			head.History.Name, head.History.Txns, s.Txns)
	}
	linear := order == level.Linearizable
	if linear { // linearizability is local: each key decides alone (Herlihy and Wing 1990, Theorem 1)
		order = level.StrictSerializable
	}
	v := &verifier{s: s, o: o, level: order, linear: linear, skew: o.ClockSkew, byPlace: head.Rule == "place",
		stamps: stamped{byStamps, head.ReadsAt != ""}}
	r := &Result{Level: l, Timestamps: byStamps, Verdict: head.Verdict, Checker: head.Checker}
	switch head.Verdict {
	case evidence.Holds:
		switch {
		case byStamps != (head.Rule == "timestamps"):
			return nil, in.errorf("rule", "%q; expected timestamps where the level begins with ts:", head.Rule)
		case !byStamps && head.Rule != "end" && head.Rule != "place":
			return nil, in.errorf("rule", "%q; expected end, place or timestamps", head.Rule)
		case byStamps && head.Exceptions != 0:
			return nil, in.errorf("exceptions", "%d; timestamps have none", head.Exceptions)
		}
		if err = v.read(in, head.Exceptions); err == nil {
			err = v.order(ctx)
		}
		if err == nil && v.ops != head.History.Ops {
			return nil, in.errorf("history", "the certificate is for another history: %s with %d operations, not %d",
				head.History.Name, head.History.Ops, v.ops)
		}
	case evidence.Violated:
		err = v.violation(ctx, in, &head)
	default:
		err = refuted{certify.ErrUnknown}
	}
	if no, ok := errors.AsType[refuted](err); ok {
		r.Refuted, err = no.error, nil
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// lines reads a file's lines and counts them.
type lines struct {
	r *bufio.Reader
	n int
}

func (l *lines) next() ([]byte, error) {
	b, err := l.r.ReadBytes('\n')
	l.n++
	if err == io.EOF && len(b) > 0 {
		err = nil
	}
	if err == io.EOF {
		return nil, l.errorf("", "the certificate ends too early")
	}
	return bytes.TrimSpace(b), err
}

// end returns an error if anything follows the last line read.
func (l *lines) end() error {
	b, err := l.r.ReadBytes('\n')
	if l.n++; len(bytes.TrimSpace(b)) > 0 {
		return l.errorf("", "%.40q; expected the end, as the header says", b)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func (l *lines) errorf(field, format string, args ...any) error {
	return &history.InputError{Line: l.n, Off: -1, Field: field, Msg: fmt.Sprintf(format, args...)}
}
