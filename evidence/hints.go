package evidence

import (
	"cmp"
	"fmt"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Hints returns possible causes of a violation other than the database: a read value that no transaction wrote, or only
// a later one, may have existed before the run; or writer and reader may have given a key or a value different kinds.
// Each hint names the flag that declares the cause. There is at most one hint of each kind.
func Hints(r *Result) (hints []string) {
	h := r.H
	if r.Verdict != Violated || h == nil {
		return nil
	}
	var text, before string
	const most = 10 // each may look at all versions
	for i := range min(most, len(r.Anomalies)) {
		a := &r.Anomalies[i]
		for _, e := range a.Edges() {
			if e.Dep == WR && before == "" && h.InitVer[e.Key] != e.Ver && later(h, e.From, e.To) {
				before = atFirst(h, e.Ver, "its writer, T%d, began after the read had ended", h.Txns.ID[e.From])
			}
		}
		if len(a.Ops) == 0 || a.Kind != level.ThinAirRead && a.Kind != level.G1a && a.Kind != level.Ext {
			continue
		}
		v := readVersion(h, a)
		if v == history.None {
			continue
		}
		if says := kinds(h, v); says != "" {
			text = cmp.Or(text, says)
			continue
		}
		switch {
		case before != "" || h.Init != history.None:
		case h.Ops.Kind[a.Ops[0]] == history.ReadList:
			before = appendedBefore(h, v)
		case a.Kind == level.ThinAirRead || a.Why == "never written":
			before = atFirst(h, v, "no transaction wrote it")
		case len(a.Ops) > 1 && later(h, h.TxnOf(a.Ops[1]), h.TxnOf(a.Ops[0])):
			before = atFirst(h, v, "its writer, T%d, began after the read had ended", h.Txns.ID[h.TxnOf(a.Ops[1])])
		}
	}
	return append(hints, slice.Filter([]string{text, before}, func(s string) bool { return s != "" })...)
}

// atFirst returns the hint that a key held a version before the run.
func atFirst(h *history.History, v uint32, why string, args ...any) string {
	k, x := h.KeyString(h.VerKey[v]), h.ValueString(v)
	return fmt.Sprintf("key %s may have held %s before the run (%s). Then use --initial '%s=%s' for this key, "+
		"--initial %s for all keys, or --initial first-read to take each key's first read", k, x,
		fmt.Sprintf(why, args...), k, x, x)
}

// appendedBefore returns the hint that a list held an element before the run.
func appendedBefore(h *history.History, v uint32) string {
	k, x := h.KeyString(h.VerKey[v]), h.ValueString(v)
	return fmt.Sprintf("if list %s held %s before the recording began (no transaction in the file appended it), a "+
		`first line {"init":true,"ops":[["a",%s,%s]]} in isovet's own format says so; or record from an empty table`,
		k, x, k, x)
}

// later reports whether a writer began after a reader had ended.
func later(h *history.History, writer, reader uint32) bool {
	start, end := h.Start(writer), h.End(reader)
	return start != history.NoTime && end != history.NoTime && start > end
}

// readVersion returns the version of an anomaly's wrong read; for a list, its first element that nobody appended.
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
		for _, x := range h.Elems(v) {
			if !appended[x] {
				return x
			}
		}
	}
	return history.None
}

// kinds returns the hint that somebody wrote a version's value to a key of the same name but another kind, or a value
// of another kind that looks the same; "" if nobody did.
func kinds(h *history.History, v uint32) string {
	key, value := h.Keys[h.VerKey[v]], h.VerValue(v)
	for w, k := range h.VerKey {
		switch x := h.VerValue(uint32(w)); {
		case k == h.VerKey[v] && alike(h, x, value):
			says := fmt.Sprintf("%s of key %s is a %s, but %s is a %s: did the program read one kind as another?",
				h.ValueString(v), h.KeyString(k), kindOf(value.Kind), h.ValueString(uint32(w)), kindOf(x.Kind))
			if x.Kind != history.Bool && value.Kind != history.Bool {
				says += " (In Jepsen's files, --text-numbers takes a text that is a number for that number.)"
			}
			return says
		case k != h.VerKey[v] && x == value && alike(h, h.Keys[k], key):
			return fmt.Sprintf("key %s is a %s, but key %s, which has the value %s, is a %s: these are two keys",
				h.KeyString(h.VerKey[v]), kindOf(key.Kind), h.KeyString(k), h.ValueString(v), kindOf(h.Keys[k].Kind))
		}
	}
	return ""
}

// alike reports whether two scalars of different kinds look the same: one is the text of the other, or they are a
// boolean and 0 or 1.
func alike(h *history.History, a, b history.Value) bool {
	scalar := func(k history.ValueKind) bool { return k == history.Int || k == history.String || k == history.Bool }
	if a.Kind == b.Kind || !scalar(a.Kind) || !scalar(b.Kind) {
		return false
	}
	if a.Kind != history.String && b.Kind != history.String {
		return a.N == b.N
	}
	spelled := func(x history.Value) string {
		if x.Kind == history.String {
			return string(h.Texts.Text(uint32(x.N)))
		}
		return string(h.Texts.AppendValue(nil, x))
	}
	return spelled(a) == spelled(b)
}

func kindOf(k history.ValueKind) string {
	switch k {
	case history.Int:
		return "number"
	case history.Bool:
		return "boolean"
	}
	return "text"
}
