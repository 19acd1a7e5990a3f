package notation

import (
	"strconv"

	"isovet/history"
)

// Format writes a history in the notation; Parse reads the same history back, but for what the notation has no place
// for: the header's texts, nodes and names. Transactions stand in the order of the file, exchanged within a session
// where that is needed to keep the session's order.
func Format(h *history.History) string {
	f := formatter{h: h}
	if h.Initial.Kind != history.Null {
		f.str("init=")
		f.value(h.Initial)
		f.str(":")
		if h.NumTxns() > 0 {
			f.str(" ")
		}
	}
	next := make([]uint32, h.NumSessions())
	ordinal := int64(0)
	for i := range uint32(h.NumTxns()) {
		if i > 0 {
			f.str(" | ")
		}
		s := h.Txns.Sess[i]
		t := h.SessTxn[h.SessOff[s]+next[s]]
		next[s]++
		f.txn(t, &ordinal)
	}
	return string(f.out)
}

type formatter struct {
	h   *history.History
	out []byte
}

func (f *formatter) str(s string) { f.out = append(f.out, s...) }
func (f *formatter) int(n int64)  { f.out = strconv.AppendInt(f.out, n, 10) }

func (f *formatter) txn(t uint32, ordinal *int64) {
	h := f.h
	want := int64(0)
	if name := h.SessName[h.Txns.Sess[t]]; t == h.Init {
		f.str("init")
	} else {
		*ordinal++
		want = *ordinal
		if name == history.NoTime {
			f.str("_")
		} else {
			f.str("s")
			f.int(name)
		}
	}
	if id := h.Txns.ID[t]; id != want {
		f.str("/")
		f.int(id)
	}
	f.str(":")
	for op := range h.EachOp(t) {
		f.str(" ")
		f.op(op)
	}
	switch h.Txns.Status[t] {
	case history.Aborted:
		f.str(" !")
	case history.Unknown:
		f.str(" ?")
	}
	start, commit, end := h.Start(t), h.Commit(t), h.End(t)
	switch {
	case commit != history.NoTime:
		f.times(" @[", start, commit, end)
	case start != history.NoTime || end != history.NoTime:
		f.times(" @[", start, end)
	}
	if s, c := h.StartTS(t), h.CommitTS(t); s != history.NoTime || c != history.NoTime {
		f.times(" ts[", s, c)
	}
}

func (f *formatter) times(open string, times ...int64) {
	f.str(open)
	for i, n := range times {
		if i > 0 {
			f.str(",")
		}
		f.time(n)
	}
	f.str("]")
}

func (f *formatter) time(n int64) {
	if n == history.NoTime {
		f.str("_")
	} else {
		f.int(n)
	}
}

func (f *formatter) op(op uint32) {
	h := f.h
	v := h.Ops.Ver[op]
	times := ","
	switch kind := h.Ops.Kind[op]; kind {
	case history.ReadList:
		f.str("r(")
		f.word(h.Keys[h.Lists.Key[v]])
		f.str(",[")
		for i, e := range h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]] {
			if i > 0 {
				f.str(",")
			}
			f.value(h.VerValue(e))
		}
		f.str("]")
	case history.PredRead, history.PredWrite:
		f.pred(v, kind)
		times = "("
	default:
		f.str(kind.String())
		f.str("(")
		f.word(h.Keys[h.VerKey[v]])
		f.str(",")
		f.value(h.VerValue(v))
	}
	s, e := h.OpStart(op), h.OpEnd(op)
	timed := s != history.NoTime || e != history.NoTime
	if timed {
		f.str(times)
		f.time(s)
		f.str(",")
		f.time(e)
	}
	if timed || times == "," {
		f.str(")")
	}
}

func (f *formatter) pred(p uint32, kind history.OpKind) {
	h := f.h
	f.str(kind.String())
	f.out = append(f.out, h.Texts.Text(h.Preds.Pred[p])...)
	f.str("[")
	lo, hi := h.Preds.Off[p], h.Preds.Off[p+1]
	for j := lo; j < hi; j++ {
		if j > lo {
			f.str(",")
		}
		old, repl := h.Preds.Old[j], h.Preds.New[j]
		if kind == history.PredRead {
			repl = old
		}
		f.word(h.Keys[h.VerKey[repl]])
		if old != history.None {
			f.str("=")
			f.value(h.VerValue(old))
		}
		if kind == history.PredWrite {
			f.str("->")
			f.value(h.VerValue(repl))
		}
	}
	f.str("]")
}

// word writes a key or a string: bare where it is a word.
func (f *formatter) word(v history.Value) {
	if v.Kind == history.String && isWord(string(f.h.Texts.Text(uint32(v.N)))) {
		f.out = append(f.out, f.h.Texts.Text(uint32(v.N))...)
		return
	}
	f.out = f.h.Texts.AppendValue(f.out, v)
}

func (f *formatter) value(v history.Value) {
	switch v.Kind {
	case history.Null:
		f.str("_")
	case history.String:
		switch string(f.h.Texts.Text(uint32(v.N))) {
		case "null", "true", "false":
			f.out = f.h.Texts.AppendValue(f.out, v)
			return
		}
		f.word(v)
	default:
		f.out = f.h.Texts.AppendValue(f.out, v)
	}
}
