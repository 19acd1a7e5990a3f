package jepsen

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"isovet/history"
)

// Check says why a history cannot be written as it is, nil if it can: an initial transaction, keys that are there at first with
// something else than null, deletes, predicates, rows. With lossy what keys hold at first may be anything: it is written as nil.
func Check(h *history.History, lossy bool) error {
	switch {
	case h.HasPredicates():
		return errors.New("the history has predicate operations; expected reads and writes, or lists")
	case h.Init != history.None && !lossy:
		return errors.New("the history has an initial transaction; Jepsen's keys are absent at first")
	case h.Initial.Kind != history.Null && !lossy:
		return errors.New("the history's keys have an initial value; Jepsen's are absent at first")
	case slices.Contains(h.VerKind, history.Row):
		return errors.New("the history has rows for values; expected numbers and strings")
	}
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi && t != h.Init; op++ {
			v := h.Ops.Ver[op]
			switch {
			case h.Ops.Kind[op] != history.Write:
			case h.VerKind[v] == history.Null:
				return errors.New("the history deletes keys, which Jepsen's registers cannot")
			case h.InitVer[h.VerKey[v]] == v:
				return fmt.Errorf("key %s is written as %s, which it holds at first", h.KeyString(h.VerKey[v]), h.ValueString(v))
			}
		}
	}
	return nil
}

// line is one line to come: an invocation, or its completion.
type line struct {
	time int64
	txn  uint32
	done bool
}

// Write writes a history as EDN, an operation a line. Check has found no fault with it. A transaction is an invocation and its
// completion: ok, fail or info. With times they stand in the order of these, else one after the other, without :time, which
// says that nothing overlaps: then only the completions are written, and no reader sees an order that is not there.
func Write(w io.Writer, h *history.History) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	timed := h.Txns.Start != nil && h.Txns.End != nil
	var lines []line
	for t := range uint32(h.NumTxns()) {
		if t == h.Init {
			continue
		}
		if timed {
			start, end := h.Start(t), h.End(t)
			if start == history.NoTime {
				return errors.New("some transactions have client times and others none; expected all or none")
			}
			lines = append(lines, line{start, t, false})
			if end == history.NoTime {
				continue // never completed
			}
			lines = append(lines, line{end, t, true})
		} else {
			lines = append(lines, line{0, t, true})
		}
	}
	// At one instant all begin before any ends, as they overlap; but a session's own transactions follow each other, so its earlier
	// one ends first.
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.time, b.time) })
	var buf []byte
	for i, l := range lines {
		status := h.Txns.Status[l.txn]
		buf = append(buf[:0], "{:type :"...)
		switch {
		case !l.done:
			buf = append(buf, "invoke"...)
		case status == history.Committed:
			buf = append(buf, "ok"...)
		case status == history.Aborted:
			buf = append(buf, "fail"...)
		default:
			buf = append(buf, "info"...)
		}
		buf = append(buf, ", :f :txn, :value ["...)
		buf = appendOps(buf, h, l.txn, l.done && status == history.Committed)
		buf = append(buf, ']')
		if timed {
			buf = strconv.AppendInt(append(buf, ", :time "...), l.time, 10)
		}
		if s := h.SessName[h.Txns.Sess[l.txn]]; s != history.NoTime {
			buf = strconv.AppendInt(append(buf, ", :process "...), s, 10)
		}
		buf = strconv.AppendInt(append(buf, ", :index "...), int64(i), 10)
		buf = append(buf, "}\n"...)
		if _, err := bw.Write(buf); err != nil {
			return err
		}
	}
	return bw.Flush()
}

// appendOps appends micro-operations; reads tell what they saw only where seen.
func appendOps(buf []byte, h *history.History, t uint32, seen bool) []byte {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		if op > lo {
			buf = append(buf, ' ')
		}
		v := h.Ops.Ver[op]
		switch h.Ops.Kind[op] {
		case history.Read:
			buf = append(buf, "[:r "...)
		case history.Write:
			buf = append(buf, "[:w "...)
		case history.Append:
			buf = append(buf, "[:append "...)
		case history.ReadList:
			buf = append(buf, "[:r "...)
		}
		buf = append(h.Texts.AppendValue(buf, h.Keys[h.OpKey(op)]), ' ')
		switch k := h.Ops.Kind[op]; {
		case (k == history.Read || k == history.ReadList) && !seen:
			buf = append(buf, "nil"...)
		case k == history.ReadList:
			buf = append(buf, '[')
			for i, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
				if i > 0 {
					buf = append(buf, ' ')
				}
				buf = h.Texts.AppendValue(buf, h.VerValue(e))
			}
			buf = append(buf, ']')
		case h.VerKind[v] == history.Null || h.InitVer[h.VerKey[v]] == v:
			buf = append(buf, "nil"...)
		default:
			buf = h.Texts.AppendValue(buf, h.VerValue(v))
		}
		buf = append(buf, ']')
	}
	return buf
}
