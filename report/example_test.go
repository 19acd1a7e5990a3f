package report_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"isovet/check"
	"isovet/history/format/jsonl"
	"isovet/level"
	"isovet/report"
)

// A verdict as text, and as a page that stands alone.
func Example() {
	h, err := jsonl.Read([]byte(`{"id":1,"ops":[["w","x",1]],"status":"aborted"}
{"id":2,"ops":[["r","x",1]]}
`), "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _ := check.Auto(h, level.ReadCommitted)
	r, err := check.Run(context.Background(), c, h, check.Options{Level: level.ReadCommitted})
	if err != nil {
		fmt.Println(err)
		return
	}
	r.Stats.CheckMS, r.Stats.CertifyMS = 0, 0 // they differ from run to run
	if err := report.Text(os.Stdout, "example", r, report.TextOptions{}); err != nil {
		fmt.Println(err)
	}
	var page strings.Builder
	if err := report.HTML(&page, "example", r); err != nil {
		fmt.Println(err)
	}
	fmt.Println(strings.HasPrefix(page.String(), "<!DOCTYPE html>"))
	// Output:
	// example: VIOLATION of read-committed
	//   G1a (aborted read)
	//     T2 read x = 1, but T1 wrote that value and aborted.
	//   2 transactions, 2 operations, 2 sessions, 1 key; by weak; certified: kernel
	// true
}
