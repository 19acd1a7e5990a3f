package format

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

// sample is a history in a format, and the same in the project's own.
type sample struct {
	format string
	files  map[string]string
	want   string
}

// TestJepsenTest: the reader knows a store's binary file by its content, and counts its operations as lines.
func TestJepsenTest(t *testing.T) {
	h := must.Get(Read(t.Context(), "fressian/testdata/test.jepsen", Options{}))(t)
	if h.NumTxns() != 2 || h.Meta.Asks != "strict-serializable" || h.Txns.Line[1] != 5 {
		t.Errorf("%d transactions, asks for %q, lines %v", h.NumTxns(), h.Meta.Asks, h.Txns.Line)
	}
}

// What readers say of a file beside its history, and where real time comes from.
func TestJepsenNotes(t *testing.T) {
	write1 := "{:type :invoke :f :write :value 1 :process 0 :time 10 :index 0}\n{:type :ok :f :write :value 1 " +
		":process 0 :time 100 :index 1}\n"
	read1 := "{:type :invoke :f :read :process 1 :time 20 :index 2}\n{:type :ok :f :read :value 1 :process 1 :time " +
		"50 :index 3}\n"
	for _, c := range []struct {
		name, text string
		realTime   RealTime
		start      int64 // of the last transaction
		positions  bool
		kind, note string // of the only note; "": there is none
	}{
		{"times", strings.ReplaceAll(write1, "100", "15") + read1, "", 20, false, "", ""},
		{"nil", "{:type :ok :f :write :value 1}\n{:type :ok :f :read :value nil}\n{:type :ok :f :read}", Untimed,
			history.NoTime, false, history.NoteNil, "2 reads of nil are not judged, the first at line 2: Knossos " +
				"takes nil for an unknown answer (--nil absent or --nil initial judges them)"},
		{"twice", "{:type :ok :f :add :value 5}\n{:type :ok :f :read :value [5 6 5]}", Untimed, history.NoTime, false,
			history.NoteTwice, "1 element occurs twice in one read of a set, the first at line 2: isovet judges " +
				"each as if it occurred once"},
		{"index", strings.ReplaceAll(write1, "100", "15") + read1, ByIndex, 2, true, "", ""},
		{"none", write1 + read1, Untimed, history.NoTime, false, "", ""},
		{"back", write1 + read1, "", 20, false, history.NoteTimes, "2 times go back, the first at line 3: real time " +
			"is taken from the times (--real-time index takes the order)"},
		{"back-time", write1 + read1, ByTime, 20, false, history.NoteTimes, "2 times go back, the first at line 3: " +
			"real time is taken from the times"},
		{"back-index", write1 + read1, ByIndex, 2, true, "", ""},
		{"unlike", strings.ReplaceAll(write1, "100", "5") + read1, "", 2, true, history.NoteTimes,
			"1 time goes back, and 1 operation is before what the same process did before, the first at line 2: " +
				"real time is taken from index (--real-time time takes the times)"},
		{"constant", "{:type :invoke :f :write :value 1 :process 0 :time 0}\n{:type :ok :f :write :value 1 :process " +
			"0 :time 0}\n", "", 0, true, history.NoteTimes, "all operations have the time 0: real time is taken from " +
			"their order in the file"},
		{"completions", "{:type :ok :f :write :value 1 :process 0 :time 0}\n{:type :ok :f :write :value 2 :process " +
			"0 :time 0}\n", "", history.NoTime, false, "", ""},
		{"some", "{:type :invoke :f :write :value 1 :process 0 :time 7}\n{:type :ok :f :write :value 1 :process 0}\n",
			"", 0, true, history.NoteTimes, "1 operation has no time, the first at line 2: real time is taken from " +
				"their order in the file"},
		{"orphan", "{:type :ok :f :write :value 1 :process 0}\n{:type :invoke :f :write :value 2 :process 0}\n", "", 1,
			true, history.NoteTimes, "1 operation completed without an invocation, the first at line 1: its start is " +
				"unknown"},
		{"index-twice", "{:type :invoke :f :write :value 1 :process 0 :index 3}\n{:type :ok :f :write :value 1 " +
			":process 0 :index 3}\n", "", 0, true, history.NoteTimes, "the index 3 occurs at lines 1 and 2; isovet " +
			"ignores indices"},
		{"index-order", "{:type :ok :f :write :value 1 :process 0 :index 3}\n{:type :invoke :f :write :value 1 " +
			":process 0 :index 2}\n", "", 2, true, history.NoteTimes,
			"1 operation was not where its index says; isovet sorted all operations by their indices"},
		{"versions", "{:type :ok :f :write :value [0 [1 5]] :process 0}\n", "", history.NoTime, false,
			history.NoteIgnored, "1 value comes with a version that the database gave it; isovet ignores these " +
				"versions"},
		{"log", "hello\n\n3\t:invoke\t:write\t1\nthere\n3\t:ok\t:write\t1\n", "", 3, true, history.NoteSkipped,
			`2 lines without an operation were ignored; the first is line 1: "hello"`},
	} {
		h, err := Read(t.Context(), write(t, c.name, []byte(c.text)), Options{RealTime: c.realTime})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if n := uint32(h.NumTxns() - 1); h.Start(n) != c.start || h.Positions != c.positions {
			t.Errorf("%s: starts at %d, positions %v; want %d, %v", c.name, h.Start(n), h.Positions, c.start,
				c.positions)
		}
		switch {
		case c.note == "" && len(h.Notes) > 0 || len(h.Notes) > 1:
			t.Errorf("%s: %+v", c.name, h.Notes)
		case c.note != "" && (len(h.Notes) == 0 || h.Notes[0].Kind != c.kind || h.Notes[0].Text != c.note):
			t.Errorf("%s: %+v; want %s %q", c.name, h.Notes, c.kind, c.note)
		}
	}
}

// refused: of a text in a format the error is about the input, and contains what is wanted; "" wants none.
func refused(t *testing.T, format, text, want string) {
	t.Helper()
	path := write(t, "in", []byte(text))
	_, err := Read(t.Context(), path, Options{Format: format})
	if want == "" && err == nil {
		return
	}
	if _, ok := errors.AsType[*history.InputError](err); !ok || want == "" ||
		!strings.Contains(strings.ReplaceAll(err.Error(), path, "FILE"), want) {
		t.Errorf("%s, %q: %v; want %q", format, text, err, want)
	}
}

// Bad input: where, what, and what was expected. A file without a history is no empty one.
func TestJepsenErrors(t *testing.T) {
	for _, row := range cases.Read(t, "testdata/jepsen-errors.tsv") {
		refused(t, row[0], row[1], row[2])
	}
	for text, want := range map[string]string{
		"{:type :invoke :f :write :value 1}\n{:type :ok :f :write :value " +
			"1}": `FILE:1: field "time": missing; expected an integer, since real time is taken from it`,
		"1 :invoke :write 1\n1 :ok :write 1\n":                                               `FILE:1: field "time": missing: lines of a log have none; expected real time by index or none`,
		"{:type :invoke :f :write :value 1 :time 5}\n{:type :ok :f :write :value 1 :time 4}": `FILE:2: field "end": transaction 0 ends at 4, before its start at 5`,
		"{\"ops\":[[\"w\",1,1]]}":                                                            `FILE: --real-time time: the history has no times; expected none`,
	} {
		path := write(t, "in", []byte(text))
		_, err := Read(t.Context(), path, Options{RealTime: ByTime})
		if _, ok := errors.AsType[*history.InputError](err); !ok || strings.ReplaceAll(err.Error(), path,
			"FILE") != want {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// A folder of a Jepsen run is its history, the best file that has it; one without is named.
func TestJepsenFolder(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) { must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)) }
	binary := must.Get(os.ReadFile("fressian/testdata/test.jepsen"))(t)
	put("results.edn", "{:valid? true}")
	for i, f := range []struct{ name, text string }{
		{"jepsen.log", "1 :ok :write 1\n"},
		{"history.txt", "1 :ok :write 1\n1 :ok :write 2\n"},
		{"test.jepsen", string(binary)}, // it has two
		{"history.edn", "[1 :ok :write 1]\n[1 :ok :write 2]\n[1 :ok :write 3]"},
	} {
		put(f.name, f.text)
		h, err := Read(t.Context(), dir, Options{})
		must.Be(t, err == nil && h.NumTxns() == []int{1, 2, 2, 3}[i] && h.File == filepath.Join(dir, f.name),
			"%s: %v", f.name, err)
	}
}

// A store without a latest run is an error that names its runs.
func TestJepsenStore(t *testing.T) {
	store := t.TempDir()
	for _, run := range []string{"bank/1", "bank/2", "lin-kv/3"} {
		dir := filepath.Join(store, filepath.FromSlash(run))
		must.OK(t, os.MkdirAll(dir, 0o700))
		must.OK(t, os.WriteFile(filepath.Join(dir, "history.edn"), []byte("[1 :ok :write 1]"), 0o600))
	}
	for dir, want := range map[string]string{
		store:                        "a folder of 3 runs of Jepsen's (bank/1, bank/2, lin-kv/3); expected one of them",
		filepath.Join(store, "bank"): "a folder of 2 runs of Jepsen's (1, 2); expected one of them",
	} {
		if _, err := Read(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	if err := os.Symlink("2", filepath.Join(store, "bank", "latest")); err != nil {
		t.Skip(err)
	}
	if _, err := Read(t.Context(), filepath.Join(store, "bank"), Options{}); err != nil {
		t.Error(err)
	}
}

// A byte order mark is no part of a text, in any format, however it is read.
func TestByteOrderMark(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	for i, s := range samples(t) {
		text, file := s.files[""]
		if !file || strings.HasPrefix(text, mark) || strings.IndexByte(text[:min(61, len(text))], 0) >= 0 ||
			s.format == "isovet-native" {
			continue
		}
		path := write(t, "in", []byte(mark+text))
		plain, err := Read(t.Context(), write(t, "plain", []byte(text)), Options{})
		if err != nil {
			continue
		}
		for _, name := range []string{"auto", s.format} {
			h, err := Read(t.Context(), path, Options{Format: name})
			if err != nil {
				t.Errorf("sample %d of %s as %s: %v", i, s.format, name, err)
			} else if d := diff.Histories(plain, h); d != "" {
				t.Errorf("sample %d of %s as %s: %s", i, s.format, name, d)
			}
			h, err = Read(t.Context(), write(t, "in.gz", gz(t, []byte(mark+text))), Options{Format: name})
			if err != nil {
				t.Errorf("sample %d of %s as %s, compressed: %v", i, s.format, name, err)
			} else if d := diff.Histories(plain, h); d != "" {
				t.Errorf("sample %d of %s as %s, compressed: %s", i, s.format, name, d)
			}
		}
	}
}
