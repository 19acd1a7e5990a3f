package check_test

import (
	"context"
	"fmt"

	"isovet/check"
	"isovet/history/format/jsonl"
	"isovet/level"
)

// Two transactions read x and y, and each writes one of them: serializable isolation forbids that, snapshot isolation
// does not.
func ExampleRun() {
	h, err := jsonl.Read([]byte(`{"id":1,"ops":[["r","x",0],["r","y",0],["w","x",1]]}
{"id":2,"ops":[["r","x",0],["r","y",0],["w","y",1]]}
{"id":0,"init":true,"ops":[["w","x",0],["w","y",0]]}
`), "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range []level.Level{level.Serializable, level.SnapshotIsolation} {
		c, ok := check.Auto(h, l)
		if !ok {
			fmt.Println("no checker decides", l)
			return
		}
		r, err := check.Run(context.Background(), c, h, check.Options{Level: l})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(l, r.Verdict)
		for _, a := range r.Anomalies {
			fmt.Println(a.Kind, "of", len(a.Txns), "transactions")
		}
	}
	// Output:
	// serializable violation
	// write-skew of 2 transactions
	// snapshot-isolation valid
}
