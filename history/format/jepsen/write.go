package jepsen

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// Check returns an error if a history cannot be written without loss. The format cannot express an initial
// transaction, a register that is read and never written in a history of lists, initial values other than null,
// deletes, predicates, rows, reads of transactions of unknown outcome, or times that do not follow from the order of
// lines. With lossy, initial values are written as nil, and such reads and times are dropped. Reads of aborted
// transactions are never written, since they say nothing.
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
	lists, written := h.HasLists(), make([]bool, len(h.Keys)) // by transactions other than the initial one
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; lists && t != h.Init && op < hi; op++ {
			written[h.OpKey(op)] = written[h.OpKey(op)] || h.Ops.Kind[op] == history.Write
		}
	}
	for t := range uint32(h.NumTxns()) {
		for op, v := range h.EachOp(t) {
			switch k := h.Ops.Kind[op]; {
			case lists && k == history.Read && !written[h.OpKey(op)]:
				return fmt.Errorf("the history has lists and registers, and nothing writes key %s, which "+
					"transaction %d reads; in such a file Jepsen takes only written keys for registers",
					h.KeyString(h.OpKey(op)), h.Txns.ID[t])
			case k == history.Append && t == h.Init:
				return errors.New("the history has lists that are not empty at first; Jepsen's lists are empty")
			case (k == history.Read || k == history.ReadList) && h.Txns.Status[t] == history.Unknown && !lossy:
				return fmt.Errorf("transaction %d, of unknown outcome, says what it read; Jepsen's info operations "+
					"do not", h.Txns.ID[t])
			case k != history.Write && k != history.Append || t == h.Init:
			case h.VerKind[v] == history.Null:
				return errors.New("the history deletes keys, or appends null; Jepsen's operations do not")
			case h.InitVer[h.VerKey[v]] == v:
				return fmt.Errorf("key %s is written as %s, which it holds at first", h.KeyString(h.VerKey[v]),
					h.ValueString(v))
			}
		}
	}
	switch {
	case lossy:
		return nil
	case h.Txns.Commit != nil:
		return errors.New("the history has times of commits; expected only starts and ends")
	}
	return times(h)
}

// times returns an error if a history's client times cannot be written. In the format an operation without an end looks
// like one that never ended, so every committed transaction needs an end.
func times(h *history.History) error {
	if h.Txns.Start == nil && h.Txns.End == nil {
		return nil
	}
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	for s := range h.NumSessions() {
		before := int64(math.MinInt64)
		for _, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			if t == h.Init {
				continue
			}
			start, end := span(h, t)
			switch {
			case start == history.NoTime || end == history.NoTime:
				return fmt.Errorf("transaction %d has no start or no end while others have; expected all or none",
					h.Txns.ID[t])
			case start < before:
				return fmt.Errorf("transaction %d starts at %d, before its predecessor in the session ended at %d",
					h.Txns.ID[t], start, before)
			}
			before = end
			first, last = min(first, start), max(last, end)
		}
	}
	if first == last {
		return fmt.Errorf("all times are %d; readers of the format take that for a missing clock", first)
	}
	return nil
}

// span returns the begin and end to write for a transaction. If it did not commit and has no end, it ends at once.
func span(h *history.History, t uint32) (start, end int64) {
	start, end = h.Start(t), h.End(t)
	if end == history.NoTime && h.Txns.Status[t] != history.Committed {
		end = start
	}
	return start, end
}

// sortByTime sorts the lines. A session's own lines keep their order: it has at most one operation open. At equal times
// invocations come first, since readers that take the order for real time must not see more of it than there is.
func sortByTime(h *history.History, lines []line) {
	for i := range lines {
		switch l := &lines[i]; {
		case i > 0 && lines[i-1].time == l.time && h.Txns.Sess[lines[i-1].txn] == h.Txns.Sess[l.txn]:
			l.rank = lines[i-1].rank + 1
		case l.done:
			l.rank = 1
		}
	}
	sorts.Stable(lines, func(a, b line) int { return cmp.Or(cmp.Compare(a.time, b.time), a.rank-b.rank) })
}

// line is a line to write: an invocation, or its completion.
type line struct {
	time int64
	rank int // among lines of the same time
	txn  uint32
	done bool
}

// Write writes a history as EDN, one operation on each line. Check must accept it. A transaction is an invocation and
// its completion: ok, fail or info, in the order of their times. Each transaction without session gets a process of
// its own. If there are no times, or they cannot be written, only completions are written, so that no reader sees a
// wrong order.
func Write(w io.Writer, h *history.History) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	timed := h.Txns.Start != nil && times(h) == nil
	lines := make([]line, 0, 2*h.NumTxns())
	inOrder := true // sessions by the transactions' numbers
	for s := range h.NumSessions() {
		txns := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		inOrder = inOrder && slices.IsSorted(txns)
		for _, t := range txns {
			switch start, end := span(h, t); {
			case t == h.Init:
			case timed:
				lines = append(lines, line{time: start, txn: t}, line{time: end, txn: t, done: true})
			default:
				lines = append(lines, line{txn: t, done: true})
			}
		}
	}
	if timed {
		sortByTime(h, lines)
	} else if inOrder {
		sorts.Func(lines, func(a, b line) int { return cmp.Compare(a.txn, b.txn) })
	}
	process := slices.Clone(h.SessName)
	if timed {
		nameSessions(process)
	}
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
		if p := process[h.Txns.Sess[l.txn]]; p != history.NoTime {
			buf = strconv.AppendInt(append(buf, ", :process "...), p, 10)
		}
		if l.done {
			if ts := h.StartTS(l.txn); ts != history.NoTime {
				buf = strconv.AppendInt(append(buf, ", :start-timestamp "...), ts, 10)
			}
			if ts := h.CommitTS(l.txn); ts != history.NoTime {
				buf = strconv.AppendInt(append(buf, ", :commit-timestamp "...), ts, 10)
			}
		}
		buf = strconv.AppendInt(append(buf, ", :index "...), int64(i), 10)
		buf = append(buf, "}\n"...)
		if _, err := bw.Write(buf); err != nil {
			return err
		}
	}
	return bw.Flush()
}

// nameSessions numbers sessions without a name; no other session has these numbers.
func nameSessions(names []int64) {
	used := slice.Set(names)
	next := int64(0)
	for s, n := range names {
		if n == history.NoTime {
			for used[next] {
				next++
			}
			names[s] = next
			next++
		}
	}
}

// appendOps appends micro-operations. Reads have their values only if seen is set.
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
