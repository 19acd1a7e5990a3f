package history_test

import (
	"fmt"

	"isovet/history"
)

// A history is built transaction by transaction: operations in program order, then the head.
func ExampleBuilder() {
	b := history.NewBuilder()
	x := b.Key(b.StringValue([]byte("x")))
	for i, write := range []int64{1, 2} {
		b.Read(x, history.Value{}) // there was no x
		b.Write(x, history.IntValue(write))
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(i), true
		b.EndTxn(head)
	}
	h, err := b.Build()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(h.NumTxns(), "transactions,", h.NumOps(), "operations,", h.NumSessions(), "sessions")
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			fmt.Println(h.Txns.ID[t], h.Ops.Kind[op], h.KeyString(h.OpKey(op)), h.ValueString(h.Ops.Ver[op]))
		}
	}
	// Output:
	// 2 transactions, 4 operations, 2 sessions
	// 0 r "x" null
	// 0 w "x" 1
	// 1 r "x" null
	// 1 w "x" 2
}
