package evidence

import (
	"fmt"
	"strconv"

	"isovet/history"
	"isovet/level"
)

// Hints say what may be behind a violation that is not the database's: reads of what nobody wrote, or only wrote later,
// where the value was there before the run, or where one program wrote a number and another read it as text. They name
// the flag of the command line that says so. At most one of each kind.
func Hints(r *Result) (hints []string) {
	h := r.H
	if r.Verdict != Violated || h == nil {
		return nil
	}
	var text, before string
	const most = 10 // each may take a look at all versions
	for i := range min(most, len(r.Anomalies)) {
		a := &r.Anomalies[i]
		cycles := append([][]Edge{a.Cycle}, a.Cycles...)
		for _, c := range cycles {
			for _, e := range c {
				if e.Dep == WR && before == "" && h.InitVer[e.Key] != e.Ver && later(h, e.From, e.To) {
					before = atFirst(h, e.Ver, "its writer, T%d, began after the read had ended", h.Txns.ID[e.From])
				}
			}
		}
		if len(a.Ops) == 0 || a.Kind != level.ThinAirRead && a.Kind != level.G1a && a.Kind != level.Ext {
			continue
		}
		v := readVersion(h, a)
		if v == history.None {
			continue
		}
		if w := twin(h, v); w != history.None && text == "" {
			text = fmt.Sprintf("%s of key %s is a %s, but %s is a %s: did the program read a number as text, or a "+
				"text as number? (In Jepsen's files, --text-numbers takes a text that is a number for that number.)",
				h.ValueString(v), h.KeyString(h.VerKey[v]), kindOf(h.VerKind[v]), h.ValueString(w),
				kindOf(h.VerKind[w]))
			continue
		}
		switch {
		case before != "" || h.Init != history.None || h.Ops.Kind[a.Ops[0]] == history.ReadList:
		case a.Kind == level.ThinAirRead || a.Why == "never written":
			before = atFirst(h, v, "no transaction wrote it")
		case len(a.Ops) > 1 && later(h, h.TxnOf(a.Ops[1]), h.TxnOf(a.Ops[0])):
			before = atFirst(h, v, "its writer, T%d, began after the read had ended", h.Txns.ID[h.TxnOf(a.Ops[1])])
		}
	}
	for _, s := range []string{text, before} {
		if s != "" {
			hints = append(hints, s)
		}
	}
	return hints
}

// atFirst is the hint that a key held a version before the run.
func atFirst(h *history.History, v uint32, why string, args ...any) string {
	k, x := h.KeyString(h.VerKey[v]), h.ValueString(v)
	return fmt.Sprintf("key %s may have held %s before the run (%s). Then use --initial '%s=%s' for this key, "+
		"--initial %s for all keys, or --initial first-read to take each key's first read", k, x,
		fmt.Sprintf(why, args...), k, x, x)
}

// later reports whether a writer began after a reader had ended.
func later(h *history.History, writer, reader uint32) bool {
	start, end := h.Start(writer), h.End(reader)
	return start != history.NoTime && end != history.NoTime && start > end
}

// readVersion is the version of an anomaly's wrong read; for a list, its first element that nobody appended.
func readVersion(h *history.History, a *Anomaly) uint32 {
	op := a.Ops[0]
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.Read:
		return v
	case history.ReadList:
		appended := map[uint32]bool{}
		for op, k := range h.Ops.Kind {
			if k == history.Append {
				appended[h.Ops.Ver[op]] = true
			}
		}
		for _, x := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
			if !appended[x] {
				return x
			}
		}
	}
	return history.None
}

// twin returns a version of the same key whose value is the same number as text, or the text as number; None: there is
// none.
func twin(h *history.History, v uint32) uint32 {
	spelled := func(v uint32) string {
		switch h.VerKind[v] {
		case history.Int:
			return strconv.FormatInt(h.VerN[v], 10)
		case history.String:
			return string(h.Texts.Text(uint32(h.VerN[v])))
		}
		return ""
	}
	s := spelled(v)
	if s == "" {
		return history.None
	}
	for w, k := range h.VerKey {
		if k == h.VerKey[v] && h.VerKind[w] != h.VerKind[v] && spelled(uint32(w)) == s {
			return uint32(w)
		}
	}
	return history.None
}

func kindOf(k history.ValueKind) string {
	if k == history.Int {
		return "number"
	}
	return "text"
}
