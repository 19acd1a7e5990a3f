package history

import (
	"bytes"
	"fmt"
	"strconv"
)

// Diff says where two histories first differ, "" if nowhere: same header, transactions in the same order with the same sessions,
// times and operations. How keys, versions and texts are numbered makes no difference, nor do the file and its lines.
// Cost: one pass over both.
func Diff(a, b *History) string {
	switch {
	case a.Meta != b.Meta:
		return fmt.Sprintf("header: %+v and %+v", a.Meta, b.Meta)
	case !sameValue(a, b, a.Initial, b.Initial):
		return fmt.Sprintf("initial value: %s and %s", a.Texts.AppendValue(nil, a.Initial), b.Texts.AppendValue(nil, b.Initial))
	case a.NumTxns() != b.NumTxns():
		return fmt.Sprintf("%d and %d transactions", a.NumTxns(), b.NumTxns())
	case a.Init != b.Init:
		return fmt.Sprintf("initial transaction: index %d and %d", int32(a.Init), int32(b.Init))
	case a.NumSessions() != b.NumSessions():
		return fmt.Sprintf("%d and %d sessions", a.NumSessions(), b.NumSessions())
	}
	posA, posB := a.positions(), b.positions()
	for t := range uint32(a.NumTxns()) {
		if d := diffTxn(a, b, t); d != "" {
			return fmt.Sprintf("transaction %d: %s", a.Txns.ID[t], d)
		}
		if sa, sb := a.SessName[a.Txns.Sess[t]], b.SessName[b.Txns.Sess[t]]; sa != sb || posA[t] != posB[t] {
			return fmt.Sprintf("transaction %d: session %d seq %d and session %d seq %d", a.Txns.ID[t], sa, posA[t], sb, posB[t])
		}
		lo, hi := a.TxnOps(t)
		for op := lo; op < hi; op++ {
			if x, y := a.describeOp(op), b.describeOp(op); !bytes.Equal(x, y) {
				return fmt.Sprintf("transaction %d: operation %d: %s and %s", a.Txns.ID[t], op-lo, x, y)
			}
		}
	}
	for k := range a.Keys {
		va, vb := a.InitVer[k], b.initVerOf(a, uint32(k))
		switch {
		case va == None != (vb == None):
			return fmt.Sprintf("key %s: an initial version and none", a.KeyString(uint32(k)))
		case va != None && !sameValue(a, b, a.VerValue(va), b.VerValue(vb)):
			return fmt.Sprintf("key %s: initial version %s and %s", a.KeyString(uint32(k)), a.ValueString(va), b.ValueString(vb))
		}
	}
	return ""
}

// positions returns each transaction's position in its session.
func (h *History) positions() []uint32 {
	pos := make([]uint32, h.NumTxns())
	for s := range h.NumSessions() {
		for i, t := range h.SessTxn[h.SessOff[s]:h.SessOff[s+1]] {
			pos[t] = uint32(i)
		}
	}
	return pos
}

func sameValue(a, b *History, x, y Value) bool {
	if x.Kind != y.Kind {
		return false
	}
	if x.Kind == String || x.Kind == Row {
		return bytes.Equal(a.Texts.Text(uint32(x.N)), b.Texts.Text(uint32(y.N)))
	}
	return x.N == y.N
}

// initVerOf returns the initial version in h of a's key k.
func (h *History) initVerOf(a *History, k uint32) uint32 {
	if int(k) < h.NumKeys() && sameValue(a, h, a.Keys[k], h.Keys[k]) {
		return h.InitVer[k] // the usual case: both were filled in the same order
	}
	for j := range h.Keys {
		if sameValue(a, h, a.Keys[k], h.Keys[j]) {
			return h.InitVer[j]
		}
	}
	return None
}

func diffTxn(a, b *History, t uint32) string {
	loA, hiA := a.TxnOps(t)
	loB, hiB := b.TxnOps(t)
	text := func(h *History, col []uint32) string {
		if col == nil || col[t] == None {
			return "none"
		}
		return string(h.Texts.AppendValue(nil, Value{Kind: String, N: int64(col[t])}))
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
func (h *History) describeOp(op uint32) []byte {
	v := h.Ops.Ver[op]
	dst := append([]byte(`["`), h.Ops.Kind[op].String()...)
	dst = append(dst, `",`...)
	version := func(v uint32) { dst = h.Texts.AppendValue(dst, h.VerValue(v)) }
	switch h.Ops.Kind[op] {
	case ReadList:
		dst = append(append(dst, h.KeyString(h.Lists.Key[v])...), `,[`...)
		for _, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
			version(e)
			dst = append(dst, ',')
		}
		dst = append(dst, ']')
	case PredRead, PredWrite:
		dst = append(dst, h.Texts.Text(h.Preds.Pred[v])...)
		for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
			for _, x := range []uint32{h.Preds.Old[j], h.Preds.New[j]} {
				if x == None {
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
