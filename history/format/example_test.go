package format_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"isovet/history"
	"isovet/history/format"
	_ "isovet/history/format/parquet"
	_ "isovet/history/format/xz"
)

// Any format is read, told by its content; what is wrong with a file is reported with its line and field.
func ExampleRead() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "h")
	for _, text := range []string{
		`{"ops":[["w","x",1]]}` + "\n" + `{"ops":[["r","x",1]]}` + "\n", // the project's own
		`{:type :invoke, :f :txn, :value [[:append :x 1]], :process 0, :index 0}
{:type :ok, :f :txn, :value [[:append :x 1]], :process 0, :index 1}` + "\n", // Jepsen's
		`{"ops":[["w","x",1.5]]}` + "\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			fmt.Println(err)
			return
		}
		h, err := format.Read(context.Background(), path, format.Options{})
		if bad, ok := errors.AsType[*history.InputError](err); ok {
			fmt.Printf("line %d: %s\n", bad.Line, bad.Msg)
			continue
		}
		fmt.Println(h.NumTxns(), "transactions; lists:", h.HasLists())
	}
	// Output:
	// 2 transactions; lists: false
	// 1 transactions; lists: true
	// line 1: the number 1.5; expected an integer
}
