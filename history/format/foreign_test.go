package format

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

// Each sample is found by its content, by its own format alone, and is the history that it should be.
func TestForeign(t *testing.T) {
	for i, s := range samples(t) {
		path := put(t, s.files)
		in := must.Get(Open(path))(t)
		head := must.Get(in.Head())(t)
		for _, f := range All() {
			if c := f.Detect(head, in.Path); (c >= Likely) != (f.Name == s.format) {
				t.Errorf("sample %d of %s: %s says %d", i, s.format, f.Name, c)
			}
		}
		in.Close()
		got, err := Read(t.Context(), path, Options{})
		if err != nil {
			t.Errorf("sample %d of %s: %v", i, s.format, err)
			continue
		}
		want := must.Get(Read(t.Context(), write(t, "want", []byte(strings.TrimSpace(strings.ReplaceAll(s.want,
			"\t", "")))), Options{}))(t)
		diff.Same(t, got, want, "sample %d of %s", i, s.format)
		f, _ := ByName(s.format)
		if strings.HasPrefix(f.Name, "jepsen") {
			f.Holds |= Predicates // sets, which are only read
		}
		must.Equal(t, Used(got)&^f.Holds, 0, "what sample %d of %s has and the format is not said to hold", i, s.format)
	}
}

// Bad input: where, what, and what was expected.
func TestForeignErrors(t *testing.T) {
	header := bincode()
	header = header[:len(header)-8]
	for _, row := range append(cases.Read(t, "testdata/foreign-errors.tsv"),
		[]string{"dbcop", string(header[:20]), `FILE:byte 16: field "variables asked for": found the end of the file ` +
			`after 4 bytes; expected 8`},
		[]string{"dbcop", string(le(slices.Clone(header), 1<<50)), `a count of 1125899906842624; 0 bytes are left`},
		[]string{"dbcop", string(append(bincode([][]event{{{true, 1, 1, true}}}), 'x')),
			`found 1 bytes behind the last session`},
		[]string{"jepsen-edn", "{:type :ok :value [[:w 1 1]]} " + strings.Repeat("#_", 1<<20),
			`more than 1024 #_, one within the other`}) {
		refused(t, row[0], row[1], row[2])
	}
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"T1.log": string(be(be(nil, 'S', 1), 'W', 1, 2, 3))}, "T1.log:byte 34: found the end of " +
			"the file within transaction 1"},
		{map[string]string{"T1.log": string(be(be(nil, 'S', 1), 'X', 1))}, "T1.log:byte 9: found the byte 0x58; " +
			"expected a record"},
		{map[string]string{"T1.log": string(be(be(nil, 'S', 1), 'C', 2))}, "T1.log:byte 9: found the end of " +
			"transaction 2; expected that of 1"},
		{map[string]string{"T1.log": string(be(be(nil, 'S', 1), 'C', 1)),
			"T2.log": string(be(be(nil, 'S', 1), 'C', 1))}, `T2.log:byte 0: field "id": found a second transaction 1; expected unique ids`},
		{map[string]string{"T1.log": string(be(nil, 'S', 1)[:7])}, "T1.log:byte 0: found the end of the file after " +
			"7 bytes of a record S; expected 9"},
		{map[string]string{"J1.log": ""}, "J1.log:1: the file is empty, like all logs of the folder"},
		{map[string]string{"J1.log": "{\"value\":[]}\n{\"values\":[]}"}, `J1.log:2: field "value": missing`},
		{map[string]string{"J1.log": `{"value":[["r",1]]}`},
			`J1.log:1: field "value": an operation r with 1 argument; expected 3`},
		{map[string]string{"J1.log": `{"value":[["range",1,2,[{}],[]]]}`}, `J1.log:1: field "range": a row without id`},
	} {
		_, err := Read(t.Context(), put(t, c.files), Options{})
		if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v; want %s", c.files, err, c.want)
		}
	}
}

// What is written in a foreign format and read again is the same history, but for what the format cannot say: names.
func TestForeignRoundTrip(t *testing.T) {
	for _, c := range []struct {
		format string
		exact  bool // ids and sessions too
		docs   []string
	}{
		{"jepsen-edn", true, []string{
			`{"id":0,"session":3,"ops":[["w","x",1],["r","y",null]]}
			 {"id":1,"session":4,"status":"unknown","ops":[["w","x",2]]}
			 {"id":2,"session":4,"status":"aborted","ops":[["w","y",2]]}`,
			`{"format":"isovet-history","version":1,"model":"list"}
			 {"id":2,"session":3,"start":1,"end":3,"ops":[["a","x",1],["r","x",[1]]]}
			 {"id":3,"session":4,"start":2,"end":4,"ops":[["r","y",[]],["a","x","two words"]]}`,
			// What did not commit has no end; whoever comes next in its session does not wait for it. The database's
			// timestamps.
			`{"id":1,"session":3,"status":"aborted","start":1,"start_ts":7,"ops":[["w","x",1]]}
			 {"id":3,"session":4,"status":"unknown","start":2,"ops":[["w","x",2]]}
			 {"id":6,"session":3,"start":4,"end":6,"start_ts":8,"commit_ts":9,"ops":[["r","x",null]]}
			 {"id":7,"session":4,"start":4,"end":7,"ops":[["w","y",2]]}`,
			// Without sessions the processes tell who overlaps whom.
			`{"id":2,"session":0,"start":1,"end":3,"ops":[["w","x",1]]}
			 {"id":3,"start":2,"end":5,"ops":[["r","x",1]]}`,
		}},
		{"plume", false, []string{
			"{\"format\":\"isovet-history\",\"version\":1,\"initial\":0}\n" +
				"{\"session\":3,\"ops\":[[\"w\",1,1],[\"r\",2,0]]}\n" +
				"{\"session\":4,\"status\":\"aborted\",\"ops\":[[\"w\",1,2]]}",
			"{\"init\":true,\"ops\":[[\"w\",1,5]]}\n{\"session\":3,\"ops\":[[\"r\",1,5]]}",
		}},
		{"polysi", false, []string{"{\"format\":\"isovet-history\",\"version\":1,\"initial\":0}\n" +
			"{\"session\":3,\"ops\":[[\"w\",1,1],[\"r\",2,0]]}\n{\"session\":4,\"ops\":[[\"w\",1,2]]}"}},
		{"dbcop", false, []string{
			"{\"format\":\"isovet-history\",\"version\":1,\"initial\":0}\n" +
				"{\"session\":3,\"ops\":[[\"w\",1,1],[\"r\",2,0]]}\n" +
				"{\"session\":4,\"status\":\"aborted\",\"ops\":[[\"w\",1,2]]}",
			"{\"init\":true,\"ops\":[[\"w\",1,5]]}\n{\"session\":3,\"ops\":[[\"r\",1,5]]}",
		}},
	} {
		for _, doc := range c.docs {
			h := must.Get(Read(t.Context(), write(t, "in", []byte(doc)), Options{}))(t)
			path := filepath.Join(t.TempDir(), "out")
			if err := Write(path, h, c.format, false); err != nil {
				t.Errorf("%s: %v", c.format, err)
				continue
			}
			g, err := Read(t.Context(), path, Options{})
			if err != nil {
				t.Errorf("%s: %v", c.format, err)
				continue
			}
			if c.exact {
				for i, n := range h.SessName {
					if n == history.NoTime {
						h.SessName[i] = 1 // the first that is free
					}
				}
				diff.Same(t, h, g, "%s", c.format)
				continue
			}
			// Ids and names of sessions are the format's own.
			for _, x := range []*history.History{h, g} {
				x.Meta = history.Meta{}
				for i := range x.Txns.ID {
					x.Txns.ID[i] = int64(i)
				}
				for i := range x.SessName {
					x.SessName[i] = int64(i)
				}
			}
			h.Initial, g.Initial = history.Value{}, history.Value{}
			diff.Same(t, h, g, "%s", c.format)
		}
	}
}

// At equal times Jepsen's lines say no more of real time than the history: an invocation comes before a completion.
func TestJepsenEqualTimes(t *testing.T) {
	h := must.Get(Read(t.Context(), write(t, "in", []byte(`{"session":1,"start":1,"end":5,"ops":[["w","x",1]]}
		{"session":1,"start":5,"end":5,"ops":[["w","x",2]]}
		{"session":2,"start":5,"end":9,"ops":[["r","x",null]]}`)), Options{}))(t)
	path := filepath.Join(t.TempDir(), "out")
	must.OK(t, Write(path, h, "jepsen-edn", false))
	g := must.Get(Read(t.Context(), path, Options{RealTime: ByIndex}))(t)
	must.Equal(t, fmt.Sprint(g.Txns.Start, g.Txns.End), "[0 1 3] [2 5 4]", "the lines' places")
}

// A session that is not in the file's order is written in its own.
func TestJepsenSessionOrder(t *testing.T) {
	h := must.Get(Read(t.Context(), write(t, "in", []byte(`{"session":3,"seq":1,"ops":[["r","x",1]]}
		{"session":3,"seq":0,"ops":[["w","x",1]]}`)), Options{}))(t)
	path := filepath.Join(t.TempDir(), "out")
	must.OK(t, Write(path, h, "jepsen-edn", false))
	g := must.Get(Read(t.Context(), path, Options{}))(t)
	if first := g.SessTxn[g.SessOff[g.Txns.Sess[0]]]; g.Ops.Kind[g.Txns.OpOff[first]] != history.Write {
		t.Error("the read comes first")
	}
}

// What a format cannot hold is refused by its name, and dropped with lossy; what cannot be said at all is refused
// always.
func TestLossy(t *testing.T) {
	for _, c := range []struct {
		format, doc, want, wantLossy string
	}{
		{"plume", `{"session":1,"start":1,"end":2,"ops":[["w",1,1]]}`, "format plume cannot hold this history, " +
			"which has times;", ""},
		{"polysi", `{"session":1,"status":"aborted","ops":[["w",1,1]]}`, "cannot hold this history, which has aborted",
			"the format cannot hold a history without operations"},
		{"dbcop", `{"session":1,"status":"unknown","ops":[["w",1,1]]}`, "cannot hold this history, which has unknown",
			""},
		{"plume", `{"session":1,"ops":[["w","x",1]]}`, `format plume: key "x" is a string; expected an integer`, ""},
		{"plume", `{"session":1,"ops":[["w",1,0]]}`,
			`format plume: key 1 has the value 0, which readers of the format take for the initial value`, ""},
		{"dbcop", `{"session":1,"ops":[["r",1,null]]}`, `format dbcop: key 1 has the value null; expected an integer`,
			""},
		{"plume", `{"session":1,"ops":[["a",1,1]]}`, `cannot hold this history, which has lists`,
			"the history has list operations"},
		{"jepsen-edn", `{"session":1,"ops":[["w",1,1],["w",1,null]]}`, `the history deletes keys`,
			`the history deletes keys`},
		{"jepsen-edn", `{"session":1,"ops":[["a",1,null]]}`, `or appends null`, `or appends null`},
		{"jepsen-edn", `{"session":1,"status":"unknown","ops":[["r",1,null],["w",1,2]]}`,
			`transaction 0, of unknown outcome, says what it read`, ""},
		{"jepsen-edn", `{"session":1,"start":1,"commit":2,"end":3,"ops":[["w",1,2]]}`,
			`the history has times of commits`, ""},
		{"jepsen-edn", "{\"session\":1,\"start\":1,\"end\":3,\"ops\":[[\"w\",1,2]]}\n{\"session\":2,\"ops\":[[\"w\",1,3]]}", `transaction 1 has no start or no end while others have`, ""},
		{"jepsen-edn", "{\"session\":1,\"start\":1,\"end\":3,\"ops\":[[\"w\",1,2]]}\n{\"session\":1,\"start\":2,\"end\":4,\"ops\":[[\"w\",1,3]]}", `transaction 1 starts at 2, before its predecessor in the session ended at 3`, ""},
		{"jepsen-edn", "{\"session\":1,\"start\":0,\"end\":0,\"ops\":[[\"w\",1,2]]}\n{\"session\":2,\"start\":0,\"end\":0,\"ops\":[[\"w\",1,3]]}", `all times are 0`, ""},
		{"jepsen-edn", `{"init":true,"ops":[["a",1,1]]}`, `cannot hold this history, which has initial values`,
			`lists that are not empty at first`},
		{"plume", "{\"format\":\"isovet-history\",\"version\":1,\"initial\":0}\n{\"session\":1,\"ops\":[[\"w\",1,0]]}",
			`format plume: key 1 is written as 0, which it holds at first`, ""},
		{"awdit", `{"session":1,"ops":[["w",1,1]]}`, "format awdit is only read, not written",
			"format awdit is only read, not written"},
	} {
		h := must.Get(Read(t.Context(), write(t, "in", []byte(c.doc)), Options{}))(t)
		dir := t.TempDir()
		if err := Write(filepath.Join(dir, "a"), h, c.format, false); err == nil || !strings.Contains(err.Error(),
			c.want) {
			t.Errorf("%s, %s: %v; want %s", c.format, c.doc, err, c.want)
		}
		err := Write(filepath.Join(dir, "b"), h, c.format, true)
		if c.wantLossy == "" && err != nil || c.wantLossy != "" && (err == nil || !strings.Contains(err.Error(),
			c.wantLossy)) {
			t.Errorf("%s, %s, lossy: %v; want %q", c.format, c.doc, err, c.wantLossy)
		}
		left, _ := os.ReadDir(dir)
		for _, e := range left {
			if e.Name() == "a" || strings.HasPrefix(e.Name(), ".") {
				t.Errorf("%s: %s was left behind", c.format, e.Name())
			}
		}
	}
}

// FuzzForeign reads arbitrary bytes in every format that is one file: no panic, and errors are about the input.
func FuzzForeign(f *testing.F) {
	var formats []Format
	for _, x := range All() {
		if x.Name != "isovet-history" && x.Name != "isovet-native" && x.Name != "parquet" && x.Name != "cobra" &&
			x.Name != "viper" {
			formats = append(formats, x)
		}
	}
	for _, s := range samples(f) {
		for _, text := range s.files {
			for i := range formats {
				if formats[i].Name == s.format {
					f.Add([]byte(text), byte(i))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which byte) {
		x := formats[int(which)%len(formats)]
		h, err := x.Read(t.Context(), &Input{Name: "fuzz", mapped: data}, Options{Workers: 1})
		if err != nil {
			if _, ok := errors.AsType[*history.InputError](err); !ok {
				t.Errorf("%s: %v is not an input error", x.Name, err)
			}
			return
		}
		if h.NumOps() > 4*len(data)+16 {
			t.Errorf("%s: %d operations of %d bytes", x.Name, h.NumOps(), len(data))
		}
	})
}

// FuzzFolder does the same for logs in folders.
func FuzzFolder(f *testing.F) {
	for _, s := range samples(f) {
		for name, text := range s.files {
			if s.format == "cobra" || s.format == "viper" {
				f.Add([]byte(text), strings.HasPrefix(name, "T"))
			}
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, isCobra bool) {
		dir := must.Get(os.MkdirTemp(dir, "*"))(t)
		defer os.RemoveAll(dir)
		x, name := viperJSON, "J1.log"
		if isCobra {
			x, name = cobraLog, "T1.log"
		}
		must.OK(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
		if _, err := x.Read(t.Context(), &Input{Name: dir, Path: dir, Dir: true}, Options{}); err != nil {
			if _, ok := errors.AsType[*history.InputError](err); !ok {
				t.Errorf("%s: %v is not an input error", x.Name, err)
			}
		}
	})
}

// TestPositions: of a format without times it is known that its times are places in the file, so that none are shown
// as nanoseconds.
func TestPositions(t *testing.T) {
	path := write(t, "h.txt", []byte(`{:process 0, :type :invoke, :f :put, :key "0", :value "x"}
{:process 0, :type :ok, :f :put, :key "0", :value "x"}
`))
	for real, want := range map[RealTime]bool{ByFile: true, Untimed: false} {
		h := must.Get(Read(t.Context(), path, Options{RealTime: real}))(t)
		must.Be(t, h.Positions == want && (h.Txns.Start != nil) == want,
			"%v: positions %v, times %v", real, h.Positions, h.Txns.Start)
	}
}
