package split

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest/diff"
	_ "isovet/internal/test/memdir"
	"isovet/internal/test/must"
)

// TestReadMapped: of any format, plain, compressed or in parts, a copy is read as the file is, and nothing is left of
// it.
func TestReadMapped(t *testing.T) {
	defer bounds.Set("split.copy-from", 1)()
	in, dir := t.TempDir(), t.TempDir()
	made := func(workload string) *history.History {
		h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: workload, Txns: 100, Keys: 20,
			Seed: 3, Times: datasets.TxnTimes}))(t)
		return h
	}
	var files [][]string
	for workload, names := range map[string][]string{
		"rmw":         {"h.jsonl", "h.jsonl.zst", "h.edn", "h.edn.gz", "h.parquet", "h.bincode", "h.ivh", "h.ivh.zst"},
		"list-append": {"h.jsonl", "h.edn", "h.parquet"}, "blindw-pred": {"h.jsonl"}} {
		h := made(workload)
		for _, name := range names {
			path := filepath.Join(in, workload+"-"+name)
			must.OK(t, format.Write(path, h, "", true))
			files = append(files, []string{path})
		}
	}
	// Parts, and a session that does not stand in its order.
	odd := filepath.Join(in, "odd.jsonl")
	text := `{"id":7,"session":1,"seq":1,"ops":[["r","x",1]]}
{"id":8,"session":1,"seq":0,"ops":[["w","x",1]]}
`
	must.OK(t, os.WriteFile(odd, []byte(text), 0o600))
	files = append(files, []string{odd}, []string{filepath.Join(in, "rmw-h.jsonl"), odd})
	for _, paths := range files {
		for _, real := range []format.RealTime{"", format.Untimed} {
			o := format.Options{RealTime: real}
			want, err := Read(context.Background(), paths, o)
			if err != nil {
				o.Initial = "null"
				if want, err = Read(context.Background(), paths, o); err != nil {
					continue // ids that occur twice
				}
			}
			h := must.Get(ReadMapped(t.Context(), paths, o, dir))(t)
			diff.Same(t, want, h, "%s", paths)
			if h.File != want.File || fmt.Sprint(h.Notes) != fmt.Sprint(want.Notes) || h.Positions != want.Positions {
				t.Errorf("%s: %q, %v, %v; expected %q, %v, %v", paths, h.File, h.Notes, h.Positions, want.File,
					want.Notes, want.Positions)
			}
			empty(t, dir)
		}
	}
}

// TestReadMappedFails: what is wrong with a file is told as by who reads it into memory, and nothing is left.
func TestReadMappedFails(t *testing.T) {
	defer bounds.Set("split.copy-from", 1)()
	in, dir := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{
		"cut.edn": "{:type :invoke :process 0 :f :txn :value [[:w 1 1]]}\n{:type :ok :process 0 :f :txn :value [[:w 1",
		"mix.edn": "{:type :invoke :process 0 :f :txn :value [[:append 1 1] [:w 1 2]]}\n" +
			"{:type :ok :process 0 :f :txn :value [[:append 1 1] [:w 1 2]]}\n",
		"ids.jsonl": `{"id":1,"ops":[]}` + "\n" + `{"id":1,"ops":[]}` + "\n", "empty.jsonl": "",
		"none.txt": "nothing\n",
	} {
		path := filepath.Join(in, name)
		must.OK(t, os.WriteFile(path, []byte(text), 0o600))
		_, want := Read(context.Background(), []string{path}, format.Options{})
		_, err := ReadMapped(context.Background(), []string{path}, format.Options{}, dir)
		must.Equal(t, fmt.Sprint(err), fmt.Sprint(want), "%s", name)
		empty(t, dir)
	}
	path := filepath.Join(in, "good.jsonl")
	must.OK(t, os.WriteFile(path, []byte(`{"id":1,"ops":[["w",1,1]]}`), 0o600))
	if _, err := ReadMapped(context.Background(), []string{path}, format.Options{}, filepath.Join(dir,
		"gone")); err == nil {
		t.Error("copied into a folder that is not there")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	stop := errors.New("stopped")
	cancel(stop)
	if _, err := ReadMapped(ctx, []string{path}, format.Options{}, dir); !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
	empty(t, dir)
}

// TestCopyHasNoName: while a copy is written it has no name already, so that nothing is left if the process is killed.
func TestCopyHasNoName(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files cannot be removed there")
	}
	dir := t.TempDir()
	c := copying{ctx: t.Context(), dir: dir}
	defer c.close()
	must.OK(t, c.create(func(w *bufio.Writer) error { empty(t, dir); return nil }))
}

func empty(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	must.Hold(t, err == nil && len(left) == 0, "left behind: %v %v", left, err)
}
