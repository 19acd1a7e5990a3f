package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/sorts"
)

// Limits of the figures of a run. With them a page is smaller than two megabytes.
const (
	maxFaults = 1000
	maxBands  = 100  // faults in a timeline
	maxKeys   = 8    // timelines on a page
	maxKeyOps = 150  // transactions in each of them
	maxOneKey = 1000 // transactions in a timeline on a page of its own
)

// fault is a span in which the nemesis was active, or a moment. to is the largest int64 if it did not end.
type fault struct {
	name     string
	from, to int64
}

// run is what the figures of a run show.
type run struct {
	calls      []history.Call
	faults     []fault
	zero, last int64
}

// callsOf returns the calls of a history and what its nemesis did. If the file is of Jepsen, the calls that are not
// committed come from there: some are not transactions.
func callsOf(h *history.History) ([]history.Call, []history.Event) {
	more := cmp.Or(h.Run, &history.Run{})
	calls := slices.Clone(more.Calls)
	for t := range uint32(h.NumTxns()) {
		if h.Start(t) != history.NoTime && (h.Run == nil || h.Txns.Status[t] == history.Committed) {
			calls = append(calls, history.Call{Start: h.Start(t), End: h.End(t), Status: h.Txns.Status[t]})
		}
	}
	return calls, more.Events
}

// faultsOf pairs the operations of a nemesis as Jepsen does: start-partition with stop-partition, kill with start, and
// so on. Others are moments. The completion of an operation, which has the same name, follows its invocation.
func faultsOf(events []history.Event) (out []fault) {
	events = slices.Clone(events)
	sorts.Stable(events, func(a, b history.Event) int { return cmp.Compare(a.At, b.At) })
	ends := map[string]string{"kill": "start", "pause": "resume", "bump-clock": "reset-clock"}
	kills := slices.ContainsFunc(events, func(e history.Event) bool { return e.F == "kill" })
	open := map[string]int{} // what ends a fault → the fault
	for i := 0; i < len(events); i++ {
		e := events[i]
		if i+1 < len(events) && events[i+1].F == e.F {
			i++
		}
		if rest, is := strings.CutPrefix(e.F, "start"); is && (rest != "" || !kills) {
			ends[e.F] = "stop" + rest
		}
		end, begins := ends[e.F]
		if at, is := open[e.F]; is {
			out[at].to = events[i].At
			delete(open, e.F)
		} else if _, again := open[end]; !begins {
			out = append(out, fault{e.F, e.At, e.At})
		} else if !again {
			open[end] = len(out)
			out = append(out, fault{e.F, e.At, math.MaxInt64})
		}
	}
	return out
}

// pageRun has the figures of a run. Each timeline is of a key, or of operations.
type pageRun struct {
	About     string
	Figures   markup
	Timelines []pair
}

// drawRun draws latency and rate. It returns nil if there are fewer than ten calls.
func drawRun(calls []history.Call, events []history.Event) *pageRun {
	if len(calls) < 10 {
		return nil
	}
	r := &run{calls: calls, faults: faultsOf(events), zero: math.MaxInt64, last: math.MinInt64}
	for _, c := range calls {
		r.zero, r.last = min(r.zero, c.Start), max(r.last, c.Start, c.End)
	}
	for _, e := range events {
		r.zero, r.last = min(r.zero, e.At), max(r.last, e.At)
	}
	latency, about := r.latency()
	return &pageRun{About: about, Figures: latency + r.rate()}
}

// newPageRun draws the run of h and, from part, timelines of keys, those of anomalies first. If key is not None, it
// draws only the timeline of that key, from the transaction at place from on. It returns nil if there are few calls.
func newPageRun(h, part *history.History, as []evidence.Anomaly, key uint32, from int) *pageRun {
	p, most := &pageRun{}, maxOneKey
	if key == history.None {
		if p, most = drawRun(callsOf(h)), maxKeyOps; p == nil {
			return nil
		} else if h.Positions {
			p = &pageRun{About: "The file has no times of real time, so latency and rate are not known. "}
		}
	}
	var keys []uint32
	touched, found := map[uint32][]uint32{}, map[uint32]bool{}
	add := func(k uint32, _, _ bool) {
		if touched[k] == nil && len(keys) < maxKeys && (key == history.None || key == k) {
			keys, touched[k] = append(keys, k), []uint32{}
		}
	}
	s := newScene(part, as)
	for _, t := range s.txns {
		found[t] = true
		for _, op := range s.cells[t] {
			EachKey(part, op, add)
		}
	}
	for op := range uint32(part.NumOps()) {
		EachKey(part, op, func(k uint32, _, _ bool) {
			if add(k, false, false); touched[k] != nil {
				touched[k] = append(touched[k], part.TxnOf(op))
			}
		})
	}
	_, events := callsOf(h)
	for _, k := range keys {
		p.Timelines = append(p.Timelines, timelineOf(part, k, touched[k], found, from, most, faultsOf(events)))
	}
	p.About += fmt.Sprintf("Timelines: %d of %s; isovet view shows each.", len(keys), plural.Of(part.NumKeys(), "key"))
	return p
}

// timelineOf draws at most most of the transactions on a key: from the one at place from on or, if some are found,
// around the first of these. It leaves out transactions without a session or a begin.
func timelineOf(h *history.History, key uint32, txns []uint32, found map[uint32]bool, from, most int,
	faults []fault) pair {
	txns = slices.DeleteFunc(slices.Compact(txns), func(t uint32) bool {
		return h.Start(t) == history.NoTime || h.SessName[h.Txns.Sess[t]] == history.NoTime
	})
	sorts.Stable(txns, func(a, b uint32) int { return cmp.Compare(h.Start(a), h.Start(b)) })
	if i := slices.IndexFunc(txns, func(t uint32) bool { return found[t] }); i >= 0 {
		from = i - most/2
	}
	n, name := len(txns), Clip(KeyName(h, key), 24)
	from = max(0, min(from, n-most))
	txns = txns[from:min(n, from+most)]
	var ops []opBox
	for _, t := range txns {
		b := opBox{process: h.SessName[h.Txns.Sess[t]], from: h.Start(t), to: h.End(t), tip: barTip(h, t),
			class: h.Txns.Status[t].String(), found: found[t]}
		if h.Txns.Status[t] == history.Unknown {
			b.to = math.MaxInt64
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < min(hi, lo+maxCells); op++ {
			b.text += strings.Replace(OpText(h, op), " "+name+" ", " ", 1) + " "
		}
		ops = append(ops, b)
	}
	return pair{fmt.Sprintf("%s: %d to %d of %s", name, min(n, from+1), from+len(txns),
		plural.Of(n, "transaction")), string(columns(ops, "session", faults))}
}

// RunHTML writes a page for the viewer about a history: latency and rate over time and, if key is not None, only the
// timeline of that key, from the transaction at place from on. Cost: linear in the history.
func RunHTML(w io.Writer, name string, h *history.History, key uint32, from int) error {
	d := pageData{Name: name, Run: newPageRun(h, h, nil, key, from)}
	if d.Run == nil {
		d.Reason = "The history has too few transactions with times to draw them over time."
	}
	return d.write(w)
}
