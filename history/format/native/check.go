package native

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"isovet/history"
	"isovet/level"
)

type bitset []uint64

func newBitset(n int) bitset { return make(bitset, n/64+1) }

// add adds i and reports whether it was new.
func (s bitset) add(i uint32) bool {
	w, bit := &s[i>>6], uint64(1)<<(i&63)
	fresh := *w&bit == 0
	*w |= bit
	return fresh
}

// whole makes the checks that need more than one row. Every row must have been checked before.
func (v *verifier) whole(workers int) *problem {
	tasks := []func() *problem{v.checkUses, v.checkSessions, v.checkIDs, v.checkTexts, v.checkLevels}
	var next atomic.Int32
	found := make([]*problem, len(tasks))
	err := v.parallel(min(workers, len(tasks)), func() error {
		for i := int(next.Add(1)) - 1; i < len(tasks); i = int(next.Add(1)) - 1 {
			found[i] = tasks[i]()
		}
		return nil
	})
	if err != nil {
		return v.of(wrong(1, 0, "%s", err.Error()))
	}
	for _, p := range found {
		if p != nil {
			return v.of(p)
		}
	}
	return nil
}

// checkSessions checks that the sessions divide the transactions between them.
func (v *verifier) checkSessions() *problem {
	h := v.h
	seen := newBitset(h.NumTxns())
	for s, name := range h.SessName {
		lo, hi := h.SessOff[s], h.SessOff[s+1]
		if lo == hi {
			return wrong(10, s, "a session without transactions; expected some")
		}
		if name == history.NoTime && hi-lo > 1 {
			return wrong(9, s, "a session of %d transactions without a name; expected one transaction", hi-lo)
		}
		for i, t := range h.SessTxn[lo:hi] {
			if h.Txns.Sess[t] != uint32(s) {
				return wrong(11, int(lo)+i, "transaction %d in session %d; expected it in its own, %d", t, s,
					h.Txns.Sess[t])
			}
			if !seen.add(t) {
				return wrong(11, int(lo)+i, "transaction %d a second time; expected each once", t)
			}
		}
	}
	if i, name := duplicate(h.SessName, history.NoTime); i >= 0 {
		return wrong(9, i, "session %d a second time; expected each once", name)
	}
	if t := h.Init; t != history.None {
		if s := h.Txns.Sess[t]; h.SessName[s] != history.NoTime {
			return wrong(14, int(t), "the initial transaction in session %d; expected it in none", h.SessName[s])
		}
	}
	return nil
}

func (v *verifier) checkIDs() *problem {
	if !v.unsorted.Load() {
		return nil
	}
	if i, id := duplicate(v.h.Txns.ID, history.NoTime); i >= 0 {
		return wrong(12, i, "transaction id %d a second time; expected unique ids", id)
	}
	// NoTime is a valid id, too.
	if i := slices.Index(v.h.Txns.ID, history.NoTime); i >= 0 {
		if j := slices.Index(v.h.Txns.ID[i+1:], history.NoTime); j >= 0 {
			return wrong(12, i+1+j, "transaction id %d a second time; expected unique ids", int64(history.NoTime))
		}
	}
	return nil
}

// checkLevels checks that transactions name levels that there are.
func (v *verifier) checkLevels() *problem {
	last := history.None
	for t, id := range v.h.Txns.Level {
		if id == last {
			continue
		}
		last = id
		name := v.h.LevelName(uint32(t))
		if l, err := level.Parse(name); name != "" && (err != nil || l.String() != name) {
			return wrong(levelsID, t, "level %q; expected one of %s", name, strings.Join(level.Names(), ", "))
		}
	}
	return nil
}

// duplicate returns an index whose number an earlier index has too; -1 if there is none. The number any may repeat.
func duplicate(col []int64, any int64) (int, int64) {
	lo, hi := int64(math.MaxInt64), int64(math.MinInt64)
	for _, x := range col {
		if x != any {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	if lo > hi {
		return -1, 0
	}
	if span := uint64(hi) - uint64(lo); span < 64*uint64(len(col)) {
		seen := newBitset(int(span) + 1)
		for i, x := range col {
			if x != any && !seen.add(uint32(uint64(x)-uint64(lo))) {
				return i, x
			}
		}
		return -1, 0
	}
	sorted := slices.Clone(col)
	slices.Sort(sorted)
	for i, x := range sorted[1:] {
		if x == sorted[i] && x != any {
			first := slices.Index(col, x)
			return first + 1 + slices.Index(col[first+1:], x), x
		}
	}
	return -1, 0
}

// Uses of a key, as bits.
const (
	asList = 1 << iota
	asRegister
)

// checkUses checks that one operation uses each list and predicate and agrees with its versions, that no key is both a
// list and a register, and that initial versions are those of history.History.InitVer.
func (v *verifier) checkUses() *problem {
	h := v.h
	var model []uint8
	if kinds := v.opKinds.Load(); kinds&^(1<<history.Read|1<<history.Write) != 0 || v.rows(28)+v.rows(31) > 0 {
		model = make([]uint8, h.NumKeys())
		if p := v.checkOpUses(model); p != nil {
			return p
		}
	}
	for i, k := range h.Lists.Key {
		for j := h.Lists.Off[i]; j < h.Lists.Off[i+1]; j++ {
			if e := h.Lists.Elem[j]; h.VerKey[e] != k {
				return wrong(30, int(j), "version %d of key %d in a list of key %d; expected the same key", e,
					h.VerKey[e], k)
			}
		}
	}
	return v.checkInit(model)
}

func (v *verifier) checkOpUses(model []uint8) *problem {
	h := v.h
	lists, preds := newBitset(len(h.Lists.Key)), newBitset(len(h.Preds.Pred))
	numLists, numPreds := 0, 0
	for op, k := range h.Ops.Kind {
		ver := h.Ops.Ver[op]
		use, key := uint8(asRegister), uint32(0)
		switch k {
		case history.PredRead, history.PredWrite:
			if !preds.add(ver) {
				return wrong(25, op, "predicate %d a second time; expected each in one operation", ver)
			}
			numPreds++
			if p := v.checkPred(ver, k); p != nil {
				return p
			}
			if p := v.checkRows(uint32(op)); p != nil {
				return p
			}
			continue
		case history.ReadList:
			if !lists.add(ver) {
				return wrong(25, op, "list %d a second time; expected each in one operation", ver)
			}
			numLists++
			use, key = asList, h.Lists.Key[ver]
		case history.Append:
			use, key = asList, h.VerKey[ver]
		default:
			key = h.VerKey[ver]
		}
		if model[key] |= use; model[key] == asList|asRegister {
			return wrong(25, op, "key %d is used as a list and as a register; expected one of them", key)
		}
	}
	if n := len(h.Lists.Key); numLists < n {
		return wrong(28, 0, "%d lists for %d reads of lists; expected as many", n, numLists)
	}
	if n := len(h.Preds.Pred); numPreds < n {
		return wrong(31, 0, "%d predicates for %d operations on them; expected as many", n, numPreds)
	}
	return nil
}

// checkPred checks the rows of a predicate: a read must name the version that it matched, a write the one that it
// installed.
func (v *verifier) checkPred(i uint32, k history.OpKind) *problem {
	h := v.h
	for j := h.Preds.Off[i]; j < h.Preds.Off[i+1]; j++ {
		old, repl := h.Preds.Old[j], h.Preds.New[j]
		switch {
		case k == history.PredRead && repl != history.None:
			return wrong(34, int(j), "a predicate read that installs version %d; expected none", repl)
		case k == history.PredRead && old == history.None:
			return wrong(33, int(j), "a predicate read without the version it matched on")
		case k == history.PredWrite && repl == history.None:
			return wrong(34, int(j), "a predicate write without the version it installs")
		case k == history.PredWrite && old != history.None && h.VerKey[old] != h.VerKey[repl]:
			return wrong(34, int(j), "a version of key %d installed on one of key %d; expected the same key",
				h.VerKey[repl], h.VerKey[old])
		}
	}
	return nil
}

// checkRows refuses an operation on a predicate that names a row again (history.RowRepeated).
func (v *verifier) checkRows(op uint32) *problem {
	h := v.h
	i := h.Ops.Ver[op]
	if v.rowOf == nil {
		v.rowOf = make([]uint32, h.NumKeys())
	}
	from := h.Preds.Off[i]
	for j := from; j < h.Preds.Off[i+1]; j++ {
		ver := h.Preds.Old[j]
		if ver == history.None {
			ver = h.Preds.New[j]
		}
		last := &v.rowOf[h.VerKey[ver]]
		if *last > from && *last <= j {
			if msg := h.RowRepeated(op); msg != "" {
				return wrong(33, int(j), "%s", msg)
			}
		}
		*last = j + 1
	}
	return nil
}

// checkInit checks the initial transaction and the initial versions.
func (v *verifier) checkInit(model []uint8) *problem {
	h := v.h
	var wrote []uint32 // key → the version that the initial transaction leaves
	if t := h.Init; t != history.None {
		if s := h.Txns.Status[t]; s != history.Committed {
			return wrong(15, int(t), "the initial transaction is %s; expected committed", s)
		}
		wrote = slices.Repeat([]uint32{history.None}, h.NumKeys())
		for op := range h.EachOp(t) {
			switch h.Ops.Kind[op] {
			case history.Write:
				wrote[h.VerKey[h.Ops.Ver[op]]] = h.Ops.Ver[op]
			case history.Append:
			default:
				return wrong(24, int(op), "the initial transaction has a %q operation; expected only writes",
					h.Ops.Kind[op])
			}
		}
	}
	isList := func(k uint32) bool { return model != nil && model[k]&asList != 0 }
	for k, ver := range h.InitVer {
		switch {
		case wrote != nil && wrote[k] != history.None:
			if ver != wrote[k] {
				return wrong(5, k, "initial version %d; expected %d, which the initial transaction wrote", int32(ver),
					wrote[k])
			}
		case ver == history.None:
		case h.VerKey[ver] != uint32(k):
			return wrong(5, k, "initial version %d, which is one of key %d; expected one of key %d", ver, h.VerKey[ver],
				k)
		case h.VerValue(ver) != h.Initial:
			return wrong(5, k, "initial version %d without the initial value; expected one with it", ver)
		case isList(uint32(k)):
			return wrong(5, k, "initial version %d of a list; expected none", ver)
		}
	}
	for _, ver := range v.uninit {
		if k := h.VerKey[ver]; (wrote == nil || wrote[k] == history.None) && !isList(k) {
			return wrong(5, int(k), "initial version %d; expected %d, which has the initial value", int32(h.InitVer[k]),
				ver)
		}
	}
	return nil
}

// checkTexts checks that predicates and rows are JSON objects; their readers rely on it.
func (v *verifier) checkTexts() *problem {
	h := v.h
	if v.x.shapes != nil {
		if id, ok := h.Texts.Packed(0, uint32(v.numTexts)); !ok {
			return wrong(2, int(id), "a text that begins like a row of integers, but is not one")
		}
	}
	kinds := v.verKinds.Load() | 1<<h.Initial.Kind
	if kinds&(1<<history.Row) == 0 && len(h.Preds.Pred) == 0 {
		return nil
	}
	rows, preds := newBitset(v.numTexts), newBitset(v.numTexts)
	for ver, k := range h.VerKind {
		if text := uint32(h.VerN[ver]); k == history.Row && rows.add(text) && !v.isRow(text) {
			return wrong(8, ver, "a row that is not a JSON object in canonical form")
		}
	}
	if x := h.Initial; x.Kind == history.Row && !v.isRow(uint32(x.N)) {
		return wrong(1, 0, "the initial value is a row that is not a JSON object in canonical form")
	}
	for i, text := range h.Preds.Pred {
		if preds.add(text) {
			if b := h.Texts.Text(text); len(b) == 0 || b[0] != '{' || !json.Valid(b) {
				return wrong(31, i, "a predicate that is not a JSON object")
			}
		}
	}
	return nil
}

func (v *verifier) isRow(text uint32) bool {
	if v.h.Texts.IsPacked(text) {
		return true // checkTexts has checked it
	}
	return isRow(v.h.Texts.Text(text))
}

// isRow reports whether b is a JSON object of null, integers, strings and booleans without white space. It does not
// check the order of the columns.
func isRow(b []byte) bool {
	if len(b) < 2 || b[0] != '{' || !json.Valid(b) {
		return false
	}
	text := false
	for i := 1; i < len(b)-1; i++ {
		switch c := b[i]; {
		case text && c == '\\':
			i++
		case c == '"':
			text = !text
		case text:
		case c <= ' ', c == '{', c == '[', c == '.', c|0x20 == 'e' && b[i-1] <= '9':
			return false
		}
	}
	return b[len(b)-1] == '}'
}
