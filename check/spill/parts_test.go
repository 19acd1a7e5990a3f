package spill

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"isovet/evidence"
	"isovet/history"
	"isovet/level"
)

// inPlaces is a history of increments, each a transaction, which stand in the file in some order.
func inPlaces(t *testing.T, order []int) *history.History {
	b := history.NewBuilder()
	b.Initial = history.IntValue(-1)
	const keys = 40
	for _, i := range order {
		k := b.Key(history.IntValue(int64(i % keys)))
		before := int64(-1)
		if i >= keys {
			before = int64(i - keys)
		}
		b.Read(k, history.IntValue(before))
		b.Write(k, history.IntValue(int64(i)))
		head := history.NewTxnHead()
		head.Start, head.End = int64(i), int64(i)+3
		b.EndTxn(head)
	}
	h, err := b.Build()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Where few partitions turn out to be too few, as the transactions stand in the files in no order of time, there are
// more.
func TestTooFewPartitions(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	order := make([]int, 4000)
	for i := range order {
		order[i] = i
	}
	o := Options{Dir: filepath.Join(t.TempDir(), "spill"), Level: level.Serializable, Workers: 2, Memory: 1 << 15}
	for _, ordered := range []bool{true, false} {
		if !ordered {
			r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		}
		h := inPlaces(t, order)
		in := cut(h, r)
		in.Bytes = int64(h.NumOps()) * 18
		most, err := Check(context.Background(), in, o)
		if err != nil {
			t.Fatal(err)
		}
		in.Keys = int64(h.NumKeys())
		a, err := Check(context.Background(), in, o)
		if err != nil {
			t.Fatal(err)
		}
		if few := a.Stats.Parts < most.Stats.Parts; few != ordered || a.Verdict != evidence.Holds ||
			most.Verdict != evidence.Holds {
			t.Errorf("in order: %t: %d partitions of %d, %s (%s) and %s (%s); expected fewer only in order, and valid",
				ordered, a.Stats.Parts, most.Stats.Parts, a.Verdict, a.Reason, most.Verdict, most.Reason)
		}
	}
}
