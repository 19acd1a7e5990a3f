package record_test

import (
	"context"
	"fmt"
	"os"

	"isovet/check"
	"isovet/level"
	"isovet/record"
)

// Two clients both read x and then write it: a lost update.
func Example() {
	rec := record.New(record.Options{})
	_ = rec.Initial("x", 1)
	a, b := rec.Session(), rec.Session()
	commit := func() error { return nil } // tx.Commit

	ta, tb := a.Begin("add"), b.Begin("add")
	_ = ta.Read("x", 1) // what your database answered
	_ = tb.Read("x", 1)
	_ = ta.Write("x", 2)
	_ = tb.Write("x", 3)
	_ = ta.Commit(commit)
	_ = tb.Commit(commit)

	h, err := rec.History()
	if err != nil {
		fmt.Println(err)
		return
	}
	c, _ := check.Auto(h, level.Serializable)
	r, err := check.Run(context.Background(), c, h, check.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Verdict, r.Anomalies[0].Kind)
	// Output: violation lost-update
}

// To any writer, a line a transaction; a struct is a row.
func ExampleTo() {
	n := int64(0)
	rec := record.To(os.Stdout, record.Options{Clock: func() int64 { n++; return n }})
	t := rec.Session().Begin("")
	_ = t.Read("b", struct{ V float64 }{1.5})
	_ = t.Commit(func() error { return nil })
	_ = rec.Close()
	// Output:
	// {"format":"isovet-history","version":1}
	// {"status":"committed","end":3,"id":1,"session":0,"start":1,"commit":2,"ops":[["r","b",{"V":"1.5"}]]}
}

// A read of all rows that satisfy a condition, and a write because there was none.
func ExampleTxn_Predicate() {
	rec := record.New(record.Options{})
	t := rec.Session().Begin("book")
	err := t.Predicate(`{"room":{"=":6}}`) // SELECT … WHERE room = 6 returned no rows
	fmt.Println(err)
	err = t.Predicate(`{"room":6}`)
	fmt.Println(err)
	// Output:
	// <nil>
	// record: predicate {"room":6}: predicate.room: expected an object of comparisons
}
