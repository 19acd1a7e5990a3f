package history

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// naiveHistory is the plain twin of Builder: what each operation names, as text, looked up in maps.
type naiveHistory struct {
	ops     [][]string // by operation: the versions it names in order, "key=value", "-" for none
	kinds   []OpKind
	written map[string]string // by key: the value that the initial transaction wrote last
	list    map[string]bool   // keys that are lists
	loose   bool              // the rows that predicates name are added by RowAt
}

// row is value for a row of a predicate at a key.
func (x *naiveHistory) row(rnd *rand.Rand, b *Builder, k uint32, n int) (Value, string) {
	if rnd.IntN(2) == 0 {
		return value(rnd, b, n)
	}
	s := rowText(rnd, n)
	if x.loose {
		return b.RowAt(k, []byte(s)), s
	}
	return b.RowValue([]byte(s)), s
}

// rowText is one of several rows: of integers in shapes of which pieces know some, long ones, and others.
func rowText(rnd *rand.Rand, n int) string {
	switch rnd.IntN(5) {
	case 0:
		return fmt.Sprintf(`{"v":%d}`, n)
	case 1:
		return fmt.Sprintf(`{"v":%d,"w%d":%d}`, n, rnd.IntN(200), -n)
	case 2:
		return fmt.Sprintf(`{"a":%d,"b":%d,"c":%d}`, n<<40, -n<<40, n)
	case 3:
		return fmt.Sprintf(`{"v":"%d"}`, n)
	}
	return fmt.Sprintf(`{"v":%d,"w":%d}`, n, -n)
}

func value(rnd *rand.Rand, b *Builder, n int) (Value, string) {
	switch rnd.IntN(6) {
	case 0:
		return Value{}, "null"
	case 1:
		return BoolValue(n%2 == 0), fmt.Sprint(n%2 == 0)
	case 2:
		s := fmt.Sprint([]string{"s", "\xff", "\xffz"}[n%3], n)
		return b.StringValue([]byte(s)), `"` + s + `"`
	case 3:
		s := rowText(rnd, n)
		return b.RowValue([]byte(s)), s
	}
	return IntValue(int64(n)), fmt.Sprint(n)
}

func key(b *Builder, n int, list bool) (uint32, string) {
	if list {
		s := fmt.Sprint("l", n)
		return b.Key(b.StringValue([]byte(s))), `"` + s + `"`
	}
	switch n % 3 {
	case 0:
		s := fmt.Sprint("k", n)
		return b.Key(b.StringValue([]byte(s))), `"` + s + `"`
	case 1:
		return b.Key(IntValue(int64(-n))), fmt.Sprint(-n)
	}
	return b.Key(IntValue(int64(n))), fmt.Sprint(n)
}

// fill adds txns random transactions to a builder and to the naive history.
func fill(rnd *rand.Rand, b *Builder, x *naiveHistory, first, txns, keys, values int, init bool) {
	for t := first; t < first+txns; t++ {
		h := NewTxnHead()
		h.HasSess, h.Session = rnd.IntN(5) > 0, rnd.Int64N(4)*1_000_000_007-1
		h.Init = init && t == first
		h.HasID = t%3 == 0
		h.ID = int64(t) + 1_000_000
		if rnd.IntN(3) == 0 {
			h.Start, h.End = int64(t), int64(t)+3
		}
		if rnd.IntN(9) == 0 {
			h.Node = b.Text(fmt.Append(nil, "node", t%3))
			h.Name = b.Text(fmt.Appendf(nil, `{"v":%d}`, t%3))
		}
		for range rnd.IntN(8) {
			isList := rnd.IntN(4) == 0
			k, kn := key(b, rnd.IntN(keys), isList)
			v, vn := value(rnd, b, rnd.IntN(values))
			names := []string{kn + "=" + vn}
			kind := Write
			switch c := rnd.IntN(8); {
			case isList && (c < 4 || h.Init):
				kind = Append
				b.Append(k, v)
			case isList:
				kind = ReadList
				names = nil
				var elems []Value
				for range rnd.IntN(4) {
					e, en := value(rnd, b, rnd.IntN(values))
					elems = append(elems, e)
					names = append(names, kn+"="+en)
				}
				b.ReadList(k, elems)
				x.list[kn] = true
			case c < 3 || h.Init:
				b.Write(k, v)
				if h.Init {
					x.written[kn] = vn
				}
			case c < 6:
				kind = Read
				b.Read(k, v)
			default:
				kind = PredRead + OpKind(c-6)
				names = nil
				var rows []PredRow
				for range rnd.IntN(3) {
					k, kn := key(b, rnd.IntN(keys), false)
					if slices.ContainsFunc(rows, func(o PredRow) bool { return o.Key == k }) {
						continue // a row stands once in an operation
					}
					old, oldName := x.row(rnd, b, k, rnd.IntN(values))
					repl, replName := x.row(rnd, b, k, rnd.IntN(values))
					r := PredRow{Key: k, Old: old, New: repl}
					if r.OldUnknown = kind == PredWrite && rnd.IntN(2) == 0; r.OldUnknown {
						oldName = "-"
					} else {
						oldName = kn + "=" + oldName
					}
					replName = kn + "=" + replName
					if kind == PredRead {
						replName = "-"
					}
					rows = append(rows, r)
					names = append(names, oldName, replName)
				}
				b.Predicate(kind, []byte(`{"p":{"=":1}}`), rows)
			}
			if kind == Append {
				x.list[kn] = true
			}
			if rnd.IntN(6) == 0 {
				b.OpTimes(int64(len(x.ops)), int64(len(x.ops))+1)
			}
			x.ops = append(x.ops, names)
			x.kinds = append(x.kinds, kind)
		}
		b.EndTxn(h)
	}
}

// check compares a history with the naive one: the same name exactly where the same version, under the right key and
// value.
func (x *naiveHistory) check(h *History) error {
	id := map[string]uint32{}
	same := func(op int, name string, v uint32) error {
		if name == "-" {
			if v != None {
				return fmt.Errorf("operation %d: version %d; want none", op, v)
			}
			return nil
		}
		if got := h.KeyString(h.VerKey[v]) + "=" + h.ValueString(v); got != name {
			return fmt.Errorf("operation %d: version %d is %s; want %s", op, v, got, name)
		}
		if old, ok := id[name]; ok && old != v {
			return fmt.Errorf("operation %d: %s is version %d and %d", op, name, old, v)
		}
		id[name] = v
		return nil
	}
	if h.NumOps() != len(x.ops) {
		return fmt.Errorf("%d operations; want %d", h.NumOps(), len(x.ops))
	}
	for op, names := range x.ops {
		if h.Ops.Kind[op] != x.kinds[op] {
			return fmt.Errorf("operation %d: kind %d; want %d", op, h.Ops.Kind[op], x.kinds[op])
		}
		v := h.Ops.Ver[op]
		var got []uint32
		switch x.kinds[op] {
		case ReadList:
			got = h.Lists.Elem[h.Lists.Off[v]:h.Lists.Off[v+1]]
		case PredRead, PredWrite:
			for j := h.Preds.Off[v]; j < h.Preds.Off[v+1]; j++ {
				got = append(got, h.Preds.Old[j], h.Preds.New[j])
			}
		default:
			got = []uint32{v}
		}
		if len(got) != len(names) {
			return fmt.Errorf("operation %d: %d versions; want %d", op, len(got), len(names))
		}
		for i, name := range names {
			if err := same(op, name, got[i]); err != nil {
				return err
			}
		}
	}
	if len(id) != h.NumVersions() {
		return fmt.Errorf("%d versions; want %d", h.NumVersions(), len(id))
	}
	for k, v := range h.InitVer {
		kn := h.KeyString(uint32(k))
		want, ok := x.written[kn]
		if !ok {
			want = string(h.Texts.AppendValue(nil, h.Initial))
		}
		wantID, named := id[kn+"="+want]
		if !named || x.list[kn] {
			wantID = None
		}
		if v != wantID {
			return fmt.Errorf("key %s: initial version %d; want %d", kn, int32(v), int32(wantID))
		}
	}
	return nil
}

// Builders filled side by side and merged in any grouping make the history that one builder makes, version ids
// included, on one core and on several; and it is what maps say. Rows that were added loosely make no difference.
func TestJoinAndMerge(t *testing.T) {
	randtest.Seeds(t, randtest.Long[uint64](20, 120), func(t testing.TB, seed uint64) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		keys, values := 1+rnd.IntN(60), 1+rnd.IntN(400)
		pieces := 1 + rnd.IntN(5)
		txns := []int{1, 3, 20, 300}[seed%4]
		if seed%40 == 4 {
			txns = 20_000 / pieces // enough to be partitioned, and joined in parallel
		}
		build := func(together, loose bool, workers int, perm uint64) *History {
			x := naiveHistory{written: map[string]string{}, list: map[string]bool{}, loose: loose}
			var bs []*Builder
			b := NewBuilder()
			b.Initial = IntValue(3)
			for i := range pieces {
				if i > 0 && !together {
					b = NewBuilder()
				}
				if i == 0 || !together {
					bs = append(bs, b)
				}
				// The same calls whoever gets them: a piece has its own seed.
				fill(rand.New(rand.NewPCG(seed, uint64(i)+100)), b, &x, i*txns, txns, keys, values, i == 0 &&
					seed%2 == 0)
			}
			order := rand.New(rand.NewPCG(seed, perm))
			for len(bs) > 1 {
				i := order.IntN(len(bs) - 1)
				bs[i].Merge(bs[i+1], 0)
				bs = append(bs[:i+1], bs[i+2:]...)
			}
			bs[0].Workers = workers
			h, err := bs[0].Build()
			must.OK(t, err, "seed %d", seed)
			must.OK(t, x.check(h), "seed %d, together %v, workers %d", seed, together, workers)
			return h
		}
		one := build(true, false, 1, 0)
		if seed%40 == 4 && one.NumOps() < 16*joinSmall {
			t.Fatalf("seed %d: %d operations are too few to be joined in parallel", seed, one.NumOps())
		}
		defer func(n int) { manyTexts = n }(manyTexts)
		if seed%3 == 0 {
			manyTexts = 4
		}
		texts, _, _ := one.Texts.Layout()
		for i, workers := range []int{1, 2, 5, 16, 1, 4} {
			h := build(i == 4, i%2 == 0 || i == 5, workers, uint64(i))
			if got, _, _ := h.Texts.Layout(); string(got) != string(texts) || h.Texts.Len() != one.Texts.Len() {
				t.Fatalf("seed %d, workers %d: the texts differ", seed, workers)
			}
			must.Equal(t, differ(one, h), "", "seed %d, workers %d", seed, workers)
			for v := range one.VerKey {
				a, b := one.KeyString(one.VerKey[v])+one.ValueString(uint32(v)), h.KeyString(h.VerKey[v])+
					h.ValueString(uint32(v))
				must.Same(t, a, b, "seed %d, workers %d: version %d", seed, workers, v)
			}
		}
	})
}

// A few small ids: the version ids of a small history follow first appearance.
func TestSmallHistoriesNumberVersionsInOrder(t *testing.T) {
	b := NewBuilder()
	x := b.Key(b.StringValue([]byte("x")))
	for i := range int64(100) {
		b.Write(x, IntValue(i*7919))
		b.Read(x, IntValue(i*7919))
	}
	b.EndTxn(NewTxnHead())
	h := must.Get(b.Build())(t)
	for op, v := range h.Ops.Ver {
		must.Same(t, int(v), op/2, "the version that operation %d names", op)
	}
}

// So do those of a large one whose predicates name most of them: rows first.
func TestRowsNumberVersionsInOrder(t *testing.T) {
	for _, workers := range []int{1, 3} {
		b := NewBuilder()
		b.Workers = workers
		old, made := []byte(`{"v":1}`), []byte(`{"v":2}`)
		for i := range int64(3 * joinSmall) {
			x, y := b.Key(IntValue(2*i)), b.Key(IntValue(2*i+1))
			b.Predicate(PredWrite, []byte(`{"v":{">":0}}`), []PredRow{{Key: x, Old: b.RowAt(x, old), New: b.RowAt(x, made)},
				{Key: y, Old: b.RowAt(y, old), New: b.RowValue(made)}})
		}
		b.Read(b.Key(IntValue(0)), IntValue(1))
		b.EndTxn(NewTxnHead())
		h := must.Get(b.Build())(t)
		if v := h.Ops.Ver[len(h.Ops.Ver)-1]; v != 12*joinSmall || h.NumVersions() != 12*joinSmall+1 {
			t.Fatalf("workers %d: the read is of version %d of %d", workers, v, h.NumVersions())
		}
		for j, old := range h.Preds.Old {
			must.Same(t, h.Preds.New[j], old+1, "workers %d: the version that row %d made of %d", workers, j, old)
		}
	}
}
