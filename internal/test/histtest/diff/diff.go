// Package diff compares histories, for tests of what reads and writes them. Only tests import it.
package diff

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"isovet/history"
)

// Same reports where two histories first differ; the test goes on. what says which they are.
func Same(t testing.TB, a, b *history.History, what string, args ...any) {
	if d := Histories(a, b); d != "" {
		t.Helper()
		t.Errorf("%s: %s", fmt.Sprintf(what, args...), d)
	}
}

// Histories says where two histories first differ, "" if nowhere: same header, transactions in the same order with the
// same sessions, times and operations. How keys, versions and texts are numbered makes no difference, nor do the file
// and its lines. Cost: one pass over both.
func Histories(a, b *history.History) string {
	switch {
	case header(a) != header(b):
		return fmt.Sprintf("header: %+v and %+v", a.Meta, b.Meta)
	case !sameValue(a, b, a.Initial, b.Initial):
		return fmt.Sprintf("initial value: %s and %s", a.Texts.AppendValue(nil, a.Initial), b.Texts.AppendValue(nil,
			b.Initial))
	case a.NumTxns() != b.NumTxns():
		return fmt.Sprintf("%d and %d transactions", a.NumTxns(), b.NumTxns())
	case a.Init != b.Init:
		return fmt.Sprintf("initial transaction: index %d and %d", int32(a.Init), int32(b.Init))
	case a.NumSessions() != b.NumSessions():
		return fmt.Sprintf("%d and %d sessions", a.NumSessions(), b.NumSessions())
	}
	posA, posB := a.SessionPlaces(), b.SessionPlaces()
	for t := range uint32(a.NumTxns()) {
		if d := diffTxn(a, b, t); d != "" {
			return fmt.Sprintf("transaction %d: %s", a.Txns.ID[t], d)
		}
		if sa, sb := a.SessName[a.Txns.Sess[t]], b.SessName[b.Txns.Sess[t]]; sa != sb || posA[t] != posB[t] {
			return fmt.Sprintf("transaction %d: session %d seq %d and session %d seq %d", a.Txns.ID[t], sa, posA[t], sb,
				posB[t])
		}
		lo, hi := a.TxnOps(t)
		for op := lo; op < hi; op++ {
			if x, y := describeOp(a, op), describeOp(b, op); !bytes.Equal(x, y) {
				return fmt.Sprintf("transaction %d: operation %d: %s and %s", a.Txns.ID[t], op-lo, x, y)
			}
		}
	}
	for k := range a.Keys {
		va, vb := a.InitVer[k], initVerOf(b, a, uint32(k))
		switch {
		case va == history.None != (vb == history.None):
			return fmt.Sprintf("key %s: an initial version and none", a.KeyString(uint32(k)))
		case va != history.None && !sameValue(a, b, a.VerValue(va), b.VerValue(vb)):
			return fmt.Sprintf("key %s: initial version %s and %s", a.KeyString(uint32(k)), a.ValueString(va),
				b.ValueString(vb))
		}
	}
	return ""
}

func sameValue(a, b *history.History, x, y history.Value) bool {
	if x.Kind != y.Kind {
		return false
	}
	if x.Kind == history.String || x.Kind == history.Row {
		return bytes.Equal(a.Texts.Text(uint32(x.N)), b.Texts.Text(uint32(y.N)))
	}
	return x.N == y.N
}

// initVerOf returns the initial version in h of a's key k.
func initVerOf(h, a *history.History, k uint32) uint32 {
	if int(k) < h.NumKeys() && sameValue(a, h, a.Keys[k], h.Keys[k]) {
		return h.InitVer[k] // the usual case: both were filled in the same order
	}
	for j := range h.Keys {
		if sameValue(a, h, a.Keys[k], h.Keys[j]) {
			return h.InitVer[j]
		}
	}
	return history.None
}

func diffTxn(a, b *history.History, t uint32) string {
	loA, hiA := a.TxnOps(t)
	loB, hiB := b.TxnOps(t)
	text := func(h *history.History, col []uint32) string {
		if col == nil || col[t] == history.None {
			return "none"
		}
		return string(h.Texts.AppendValue(nil, history.Value{Kind: history.String, N: int64(col[t])}))
	}
	for _, f := range []struct {
		name string
		x, y any
	}{
		{"id", a.Txns.ID[t], b.Txns.ID[t]},
		{"status", a.Txns.Status[t], b.Txns.Status[t]},
		{"start", a.Start(t), b.Start(t)},
		{"commit", a.Commit(t), b.Commit(t)},
		{"end", a.End(t), b.End(t)},
		{"start_ts", a.StartTS(t), b.StartTS(t)},
		{"commit_ts", a.CommitTS(t), b.CommitTS(t)},
		{"node", text(a, a.Txns.Node), text(b, b.Txns.Node)},
		{"name", text(a, a.Txns.Name), text(b, b.Txns.Name)},
		{"level", a.LevelName(t), b.LevelName(t)},
		{"number of operations", hiA - loA, hiB - loB},
	} {
		if f.x != f.y {
			return fmt.Sprintf("%s: %v and %v", f.name, f.x, f.y)
		}
	}
	if loA != loB {
		return "operations begin elsewhere"
	}
	return ""
}

// describeOp returns an operation as JSON, as in the history format but for its times, which are marked.
func describeOp(h *history.History, op uint32) []byte {
	v := h.Ops.Ver[op]
	dst := append([]byte(`["`), h.Ops.Kind[op].String()...)
	dst = append(dst, `",`...)
	version := func(v uint32) { dst = h.Texts.AppendValue(dst, h.VerValue(v)) }
	switch h.Ops.Kind[op] {
	case history.ReadList:
		dst = append(append(dst, h.KeyString(h.Lists.Key[v])...), `,[`...)
		for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
			version(e)
			dst = append(dst, ',')
		}
		dst = append(dst, ']')
	case history.PredRead, history.PredWrite:
		dst = append(dst, h.Texts.Text(h.Preds.Pred[v])...)
		for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
			for _, x := range []uint32{h.Preds.Old[j], h.Preds.New[j]} {
				if x == history.None {
					dst = append(dst, ",_"...)
					continue
				}
				dst = append(append(append(dst, ','), h.KeyString(h.VerKey[x])...), '=')
				version(x)
			}
		}
	default:
		dst = append(append(dst, h.KeyString(h.VerKey[v])...), ',')
		version(v)
	}
	dst = strconv.AppendInt(append(dst, "]@"...), h.OpStart(op), 10)
	return strconv.AppendInt(append(dst, ','), h.OpEnd(op), 10)
}

// header is what a file's header says of a history.
func header(h *history.History) history.Meta {
	m := h.Meta
	m.Single, m.Asks = false, ""
	return m
}
