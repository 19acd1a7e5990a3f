package evidence_test

import (
	"bytes"
	"context"
	"fmt"

	"isovet/certify"
	checkers "isovet/check"
	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/level"
)

// A certificate is evidence as text: who has it and the history needs no checker to believe it.
func ExampleWriteCertificate() {
	h, err := jsonl.Read([]byte(`{"id":1,"ops":[["r","x",0],["w","x",1]]}
{"id":2,"ops":[["r","x",0],["w","x",2]]}
{"id":0,"init":true,"ops":[["w","x",0]]}
`), "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _ := checkers.Auto(h, level.Serializable)
	r, err := checkers.Run(context.Background(), c, h, checkers.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Anomalies[0].Text)
	var cert bytes.Buffer
	if err := evidence.WriteCertificate(&cert, r); err != nil {
		fmt.Println(err)
		return
	}
	again, err := evidence.ReadCertificate(&cert, h)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.Verdict, certify.Check(again, certify.Options{}))
	// Output:
	// Let
	//   T1 = r(x, 0) w(x, 1)
	//   T2 = r(x, 0) w(x, 2)
	// T1 < T2, because T1 read x = 0, the initial value, before T2 overwrote it with 2.
	// T2 < T1, because T2 read x = 0, the initial value, before T1 overwrote it with 1.
	// So T1 would come before itself: a contradiction.
	// violation <nil>
}
