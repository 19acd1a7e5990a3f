package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"isovet/datasets/workload"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// maxReplayed bounds the operations of a history for which ScheduleOf makes a schedule. Each step waits for those
// before.
const maxReplayed = 5000

// ScheduleOf makes a schedule from a recorded history: every session begins, reads, writes and commits in the order of
// the recorded times. Keys become rows of one table, which is loaded with every key; versions are new. Aborted
// transactions are rolled back at their ends. Errors: the operations have no times; the history has predicates, or
// lists beside other values, or too many operations.
func ScheduleOf(h *history.History) (*Schedule, error) {
	switch {
	case h.HasPredicates():
		return nil, errors.New("isovet cannot replay predicates; expected a history of reads and writes of keys")
	case h.NumOps() > maxReplayed:
		return nil, fmt.Errorf("the history has %d operations; expected at most %d: isovet shrink makes it smaller",
			h.NumOps(), maxReplayed)
	case len(h.Ops.Start) == 0:
		return nil, errors.New("the history has no times of its operations; replay needs them")
	}
	lists := h.HasLists()
	s := &Schedule{tables: []workload.Table{{Name: "key", Rows: h.NumKeys(), List: lists}}}
	type timed struct {
		at int64
		Step
	}
	var all []timed
	ends, seen := commits(h)
	sessions := map[uint32]int{}
	for t := range uint32(h.NumTxns()) {
		if t == h.Init {
			continue
		}
		n, ok := sessions[h.Txns.Sess[t]]
		if !ok {
			n = len(sessions)
			sessions[h.Txns.Sess[t]] = n
		}
		lo, hi := h.TxnOps(t)
		last := h.Start(t)
		add := func(at int64, st Step) {
			if at == history.NoTime || at < last {
				at = last
			}
			last, st.Session = at, n
			all = append(all, timed{at, st})
		}
		begin := h.Start(t)
		for op := lo; op < hi; op++ {
			if w := seen[op]; w != history.None && ends[w] < h.OpStart(lo) {
				begin = max(begin, ends[w]+1)
			}
		}
		add(begin, Step{Kind: Begin, Text: fmt.Sprintf("b%d", n+1)})
		for op := lo; op < hi; op++ {
			st, err := replayed(h, op, n+1, lists)
			if err != nil {
				return nil, err
			}
			at := h.OpStart(op)
			if w := seen[op]; w != history.None && ends[w] < h.OpEnd(op) {
				at = max(at, ends[w]+1)
			}
			add(at, st)
		}
		end := Step{Kind: Commit, Text: fmt.Sprintf("c%d", n+1)}
		if h.Txns.Status[t] == history.Aborted {
			end = Step{Kind: Rollback, Text: fmt.Sprintf("a%d", n+1)}
		}
		add(ends[t], end)
	}
	slices.SortStableFunc(all, func(a, b timed) int { return cmp.Compare(a.at, b.at) })
	s.Steps = slice.Map(all, func(st timed) Step { return st.Step })
	s.Sessions = len(sessions)
	return s, nil
}

// commits returns when each transaction ends in a schedule, and for each operation the transaction whose commit it
// saw, or None. A client knows when it sent a commit and when the answer came. commits takes the latest moment in
// between that precedes the readers of the transaction, since other transactions may have begun before the commit.
func commits(h *history.History) (ends []int64, seen []uint32) {
	writer := map[uint32]uint32{}
	earliest := make([]int64, h.NumTxns())
	ends, seen = make([]int64, h.NumTxns()), make([]uint32, h.NumOps())
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		if earliest[t] = h.Commit(t); earliest[t] == history.NoTime && hi > lo {
			earliest[t] = h.OpEnd(hi - 1)
		}
		ends[t] = max(earliest[t], h.End(t))
		for op := lo; op < hi; op++ {
			if k := h.Ops.Kind[op]; (k == history.Write || k == history.Append) && h.Txns.Status[t] != history.Aborted {
				writer[h.Ops.Ver[op]] = t
			}
		}
	}
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			seen[op] = history.None
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.ReadList:
				elems := h.Elems(v)
				if len(elems) == 0 {
					continue
				}
				v = elems[len(elems)-1]
			case history.Read:
			default:
				continue
			}
			if w, ok := writer[v]; ok && w != t && w != h.Init {
				seen[op] = w
				if at := h.OpStart(lo) - 1; at >= earliest[w] { // before its snapshot
					ends[w] = min(ends[w], at)
				} else if at := h.OpEnd(op) - 1; at >= earliest[w] {
					ends[w] = min(ends[w], at)
				}
			}
		}
	}
	return ends, seen
}

func replayed(h *history.History, op uint32, session int, lists bool) (Step, error) {
	k := h.OpKey(op)
	st := Step{Kind: Do, Op: workload.Op{Key: workload.MakeKey(0, int64(k))}}
	verb := "r"
	switch kind := h.Ops.Kind[op]; {
	case kind == history.Write && !lists:
		verb, st.Op.Kind = "w", workload.Write
		if v := h.Ops.Ver[op]; h.VerKind[v] == history.Null {
			verb, st.Op.Kind = "d", workload.Delete
		}
	case kind == history.Append && lists:
		verb, st.Op.Kind = "w", workload.Append
	case kind == history.Read && !lists, kind == history.ReadList && lists:
	default:
		return st, errors.New("the history has lists and other values; expected one or the other")
	}
	st.Text = fmt.Sprintf("%s%d(%s)", verb, session, h.KeyString(k))
	return st, nil
}

// Replayed counts the runs of a schedule that violated a level.
type Replayed struct {
	Runs, Violated, Undecided int
	DB, Isolation             string
	// Last is the last violation, or nil.
	Last *evidence.Result
}

// Replay plays a schedule runs times and checks the history of each run.
func Replay(ctx context.Context, c Config, s *Schedule, l level.Level, runs int, told func(Replayed)) (Replayed,
	error) {
	var out Replayed
	t, err := Open(ctx, c)
	if err != nil {
		return out, err
	}
	defer t.Close()
	out.DB, out.Isolation = t.Info().Name, t.Info().Isolation
	for range runs {
		p, err := t.Play(ctx, c, s)
		if err != nil {
			return out, err
		}
		r, err := Examine(ctx, p.History, l, 10*time.Second)
		if err != nil {
			return out, err
		}
		out.Runs++
		switch r.Verdict {
		case evidence.Violated:
			out.Violated++
			out.Last = r
		case evidence.Unknown:
			out.Undecided++
		}
		if told != nil {
			told(out)
		}
	}
	return out, nil
}
