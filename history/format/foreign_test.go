package format

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/history"
)

// be and le append integers as Cobra and bincode have them.
func be(b []byte, letter byte, ns ...uint64) []byte {
	b = append(b, letter)
	for _, n := range ns {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	return b
}

func le(b []byte, ns ...uint64) []byte {
	for _, n := range ns {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

type event struct {
	write           bool
	variable, value uint64
	ok              bool
}

// bincode makes a dbcop file of sessions of transactions; a nil event ends a transaction that failed.
func bincode(sessions ...[][]event) []byte {
	b := le(nil, 7, 2, 2, 1, 2)
	for _, s := range []string{"testdb", "2020-01-02T03:04:05Z", "2020-01-02T03:04:05.5+08:00"} {
		b = append(le(b, uint64(len(s))), s...)
	}
	b = le(b, uint64(len(sessions)))
	bit := func(v bool) byte {
		if v {
			return 1
		}
		return 0
	}
	for _, s := range sessions {
		b = le(b, uint64(len(s)))
		for _, t := range s {
			failed := len(t) > 0 && t[len(t)-1] == (event{})
			if failed {
				t = t[:len(t)-1]
			}
			b = le(b, uint64(len(t)))
			for _, e := range t {
				b = append(le(append(b, bit(e.write)), e.variable, e.value), bit(e.ok))
			}
			b = append(b, bit(!failed))
		}
	}
	return b
}

// samples are small histories in each foreign format, and the same as JSON lines. A folder has a file for each name; else the name
// is "".
var samples = []struct {
	format string
	files  map[string]string
	want   string
}{
	{"plume", map[string]string{"": "w(1,5,0,10)\nr(1,5,1,11)\r\nw(2,6,0,10)\n\nw(1,9,2,-1)\nr(1,8,2,-1)\nr(2,0,1,12)\n"}, `
		{"format":"isovet-history","version":1,"initial":0}
		{"session":0,"ops":[["w",1,5],["w",2,6]]}
		{"session":1,"ops":[["r",1,5]]}
		{"session":2,"status":"aborted","ops":[["w",1,9]]}
		{"session":1,"ops":[["r",2,0]]}`},
	// An explicit initial transaction, and ids that are a session's own.
	{"plume", map[string]string{"": "w(1,1,0,0)\nw(2,1,0,0)\nr(1,1,1,1)\nr(2,1,2,1)\n"}, `
		{"session":0,"init":true,"ops":[["w",1,1],["w",2,1]]}
		{"session":1,"ops":[["r",1,1]]}
		{"session":2,"ops":[["r",2,1]]}`},
	// A written 0 is not the initial one.
	{"plume", map[string]string{"": "w(1,0,3,7)\nr(2,0,4,8)\n"}, `
		{"init":true,"ops":[["w",2,0]]}
		{"id":7,"session":3,"ops":[["w",1,0]]}
		{"id":8,"session":4,"ops":[["r",2,0]]}`},
	{"awdit", map[string]string{"": "\nw 1 2\nw 2 3\n-----\nr 1 2\n=====\n\nr 2 3\n"}, `
		{"session":0,"ops":[["w",1,2],["w",2,3]]}
		{"session":0,"ops":[["r",1,2]]}
		{"session":1,"ops":[["r",2,3]]}`},
	{"dbcop", map[string]string{"": string(bincode(
		[][]event{{{true, 1, 1, true}, {false, 2, 0, true}, {false, 9, 9, false}}, {{true, 1, 2, true}, {}}},
		[][]event{{{true, 2, 4, false}, {false, 1, 1, true}}}))}, `
		{"format":"isovet-history","version":1,"initial":0,"db":"testdb"}
		{"session":0,"ops":[["w",1,1],["r",2,0]]}
		{"session":0,"status":"aborted","ops":[["w",1,2]]}
		{"session":1,"ops":[["r",1,1]]}
		{"session":1,"status":"aborted","ops":[["w",2,4]]}`},
	{"dbcop", map[string]string{"": string(bincode(
		[][]event{{{true, 1, 1, true}, {true, 2, 1, true}}},
		[][]event{{{false, 1, 1, true}}, {{true, 2, 2, true}}}))}, `
		{"format":"isovet-history","version":1,"initial":0,"db":"testdb"}
		{"session":0,"init":true,"ops":[["w",1,1],["w",2,1]]}
		{"session":1,"ops":[["r",1,1]]}
		{"session":1,"ops":[["w",2,2]]}`},
	{"cobra", map[string]string{
		"T10.log":   string(be(be(be(be(nil, 'S', 5), 'R', 3, 77, 1, 0), 'R', 0xDEADBEEF, 0xDEADBEEF, 2, 0), 'C', 5)),
		"T2.log":    string(be(be(be(be(be(nil, 'S', 3), 'R', 0xBEBEEBEE, 0xBEBEEBEE, 1, 12), 'W', 77, 1, 13), 'C', 3), 'S', 4)) + string(be(be(nil, 'R', 99, 78, 2, 1), 'C', 4)),
		"T2.debug":  "not a log",
		"other.txt": "not a log",
	}, `
		{"init":true,"ops":[["w",1,"initial"]]}
		{"id":3,"session":2,"ops":[["r",1,"initial"],["w",1,77]]}
		{"id":4,"session":2,"ops":[["r",2,78]]}
		{"id":5,"session":10,"ops":[["r",1,77],["r",2,null]]}
		{"id":99,"status":"unknown","ops":[["w",2,78]]}`},
	{"cobra", map[string]string{"T1.log": string(be(be(be(nil, 'S', 3, 1000), 'W', 7, 1, 0), 'C', 3, 1002))}, `
		{"id":3,"session":1,"start":1000000000,"end":1002000000,"ops":[["w",1,7]]}`},
	{"viper", map[string]string{
		"J1.log": `{"value": [["w", 1, 10, true], ["w", 3, 11, false], ["i", 2, 20, -5, true, true]], "preBeginTS": 1, "postBeginTS": 2, "preCommitTS": 3, "postCommitTS": 4}`,
		"J2.log": "{\"value\": [[\"r\", 1, 10, false], [\"range\", 1, null, [{\"id\": 1, \"sk\": 0, \"val\": 10}], [{\"id\": 2, \"sk\": 0, \"val\": 20}]]]}\n" +
			`{"value": [{"opType": "r", "key": 2, "value": 20}, {"opType": "commit"}]}`,
	}, `
		{"session":1,"start":1,"commit":3,"end":4,"ops":[["w",1,10],["r",2,-5],["w",2,20]]}
		{"session":2,"ops":[["r",1,10],["pr",{"key":{">=":1}},[[1,10],[2,20]]]]}
		{"session":2,"ops":[["r",2,20]]}
		{"init":true,"ops":[["w",2,-5]]}`},
	{"timekiller", map[string]string{"": `[{"tid":1,"sid":4,"sts":{"p":"5","l":0},"cts":{"p":"7","l":1},"ops":[{"t":"w","k":1,"v":9},{"v":0,"t":"R","k":2}]},
		{"cts":{"p":8,"l":0},"sts":{"p":7,"l":1},"sid":5,"tid":2,"ops":[{"t":"read","k":1,"v":9}]}]`}, `
		{"format":"isovet-history","version":1,"initial":0}
		{"id":1,"session":4,"start_ts":1,"commit_ts":2,"ops":[["w",1,9],["r",2,0]]}
		{"id":2,"session":5,"start_ts":2,"commit_ts":3,"ops":[["r",1,9]]}`},
	{"timekiller", map[string]string{"": `[{"tid":1,"sid":"a","sts":{"p":5,"l":0},"cts":{"p":7,"l":0},"ops":[{"t":"a","k":1,"v":9},{"t":"r","k":1,"v":[9]},{"t":"r","k":2}]}]`}, `
		{"format":"isovet-history","version":1,"model":"list"}
		{"id":1,"session":-1,"start_ts":5,"commit_ts":7,"ops":[["a",1,9],["r",1,[9]],["r",2,[]]]}`},
	{"jepsen-edn", map[string]string{"": `; a comment
		{:type :invoke, :f :txn, :value [[:w :x 1] [:r "y" nil]], :process 0, :time 10, :index 0}
		{:type :info, :f :kill, :process :nemesis, :time 11, :index 1}
		{:f :txn :type :invoke, :value [[:w :x 2]], :process 1, :time 12, :index 2}
		{:type :ok, :f :txn, :value [[:w :x 1] [:r "y" nil]], :process 0, :time 13, :index 3}
		{:type :invoke, :f :txn, :value [[:r :x nil] [:w 3 4]], :process 0, :time 14, :index 4}
		#_ {:type :ok} {:type :info, :f :txn, :value [[:w :x 2]], :process 1, :time 15, :error [:timeout #{1 2}], :index 5}
		#jepsen.history.Op{:type :fail, :value [[:r :x nil] [:w 3 4]], :process 0, :time 16, :index 6}`}, `
		{"id":3,"session":0,"start":10,"end":13,"ops":[["w","x",1],["r","y",null]]}
		{"id":5,"session":1,"status":"unknown","start":12,"ops":[["w","x",2]]}
		{"id":6,"session":0,"status":"aborted","start":14,"ops":[["w",3,4]]}`},
	// Completions alone, in a vector, lists.
	{"jepsen-edn", map[string]string{"": `[{:type :ok, :value [[:append 1 2] [:r 1 [2]] [:r 3 nil]]} {:type :ok :value []}]`}, `
		{"format":"isovet-history","version":1,"model":"list"}
		{"ops":[["a",1,2],["r",1,[2]],["r",3,[]]]}`},
	// Registers, one for each key; what was never answered; positions for want of times.
	{"jepsen-edn", map[string]string{"": `({:process 1, :type :invoke, :f :write, :value [7 1]}
		{:process 1, :type :ok, :f :write, :value [7 1]} {:process 2, :type :invoke, :f :cas, :value [7 [1 2]]}
		{:process 1, :type :invoke, :f :read, :value [7 nil]} {:process 1, :type :ok, :f :read, :value [7 2]}
		{:process 1, :type :invoke, :f :cas, :value [7 [5 6]]} {:process 1, :type :fail, :f :cas, :value [7 [5 6]]})`}, `
		{"session":1,"start":0,"end":1,"ops":[["w",7,1]]}
		{"session":2,"status":"unknown","start":2,"ops":[["r",7,1],["w",7,2]]}
		{"session":1,"start":3,"end":4,"ops":[["r",7,2]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :acquire :process 1} {:type :ok :f :acquire :process 1} {:type :invoke :f :release :process 1}
		{:type :fail :f :release :process 1}`}, `
		{"format":"isovet-history","version":1,"initial":0}
		{"session":1,"start":0,"end":1,"ops":[["r","lock",0],["w","lock",1]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :add :value 4 :process 1} {:type :ok :f :add :value 4 :process 1} {:type :invoke :f :read :process 1}
		{:type :ok :f :read :value #{4} :process 1}`}, `
		{"session":1,"start":0,"end":1,"ops":[["w",4,1]]}
		{"session":1,"start":2,"end":3,"ops":[["pr",{},[[4,1]]]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :add :value [0 4] :process 1} {:type :ok :f :add :value [0 4] :process 1} {:type :invoke :f :read :value [0 nil] :process 1}
		{:type :ok :f :read :value [0 [4]] :process 1}`}, `
		{"session":1,"start":0,"end":1,"ops":[["w","0 4",1]]}
		{"session":1,"start":2,"end":3,"ops":[["pr",{"key":{">=":"0 ","<":"0!"}},[["0 4",1]]]]}`},
	{"jepsen-json", map[string]string{"": `[{"type":"invoke","f":"txn","value":[["w","x",1],["r","y",null]],"process":0,"index":1,"time":5},
		{"index":2,"type":"ok","f":"txn","value":[["w","x",1],["r","y","a\"\u00e9"]],"process":0,"time":6}]`}, `
		{"id":2,"session":0,"start":5,"end":6,"ops":[["w","x",1],["r","y","a\"é"]]}`},
	{"jepsen-json", map[string]string{"": "{\"type\":\"ok\",\"value\":[[\"w\",1,1]],\"process\":3}\n{\"type\":\"ok\",\"value\":[[\"r\",1,1]],\"process\":4}\n"}, `
		{"session":3,"ops":[["w",1,1]]}
		{"session":4,"ops":[["r",1,1]]}`},
	{"porcupine", map[string]string{"": "INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - :nemesis\t:info\t:start\tnil\nINFO  jepsen.util - 1\t:invoke\t:write\t3\nINFO  jepsen.util - 0\t:ok\t:read\tnil\n" +
		"INFO  jepsen.util - 1\t:info\t:write\t:timed-out\nINFO  jepsen.util - 2\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 2\t:fail\t:cas\t[1 2]\nINFO  jepsen.util - 2\t:invoke\t:cas\t[3 4]\nINFO  jepsen.util - 2\t:ok\t:cas\t[3 4]\n"}, `
		{"session":0,"start":1,"end":4,"ops":[["r","register",null]]}
		{"session":1,"status":"unknown","start":3,"ops":[["w","register",3]]}
		{"session":2,"start":6,"end":7,"ops":[["pr",{"":{"=":1}},[]]]}
		{"session":2,"start":8,"end":9,"ops":[["r","register",3],["w","register",4]]}`},
}

// put writes a sample and returns its path.
func put(t *testing.T, files map[string]string) string {
	dir := t.TempDir()
	for name, text := range files {
		if name == "" {
			name = "sample"
			defer func() { dir = filepath.Join(dir, "sample") }()
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, file := files[""]; file {
		return filepath.Join(dir, "sample")
	}
	return dir
}

// Each sample is found by its content, by its own format alone, and is the history that it should be.
func TestForeign(t *testing.T) {
	for i, s := range samples {
		path := put(t, s.files)
		in, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		head, err := in.Head()
		if err != nil {
			t.Fatal(err)
		}
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
		want, err := Read(t.Context(), write(t, "want", []byte(strings.TrimSpace(strings.ReplaceAll(s.want, "\t", "")))), Options{})
		if err != nil {
			t.Fatalf("sample %d of %s: %v", i, s.format, err)
		}
		if d := history.Diff(got, want); d != "" {
			t.Errorf("sample %d of %s: %s", i, s.format, d)
		}
		f, _ := ByName(s.format)
		if strings.HasPrefix(f.Name, "jepsen") {
			f.Holds |= Predicates // sets, which are only read
		}
		if lost := Used(got) &^ f.Holds; lost != 0 {
			t.Errorf("sample %d of %s: has %v, which the format is said not to hold", i, s.format, lost)
		}
	}
}

// Bad input: where, what, and what was expected.
func TestForeignErrors(t *testing.T) {
	header := bincode()
	header = header[:len(header)-8]
	for _, c := range []struct {
		format, text, want string
	}{
		{"plume", "w(1,2,3,4)\nx(1,2,3,4)\n", `FILE:2: found "x(1,2,3,4)"; expected an operation`},
		{"plume", "w(1,2,3)\n", `FILE:1: field "session": found ")" behind the number`},
		{"plume", "w(1,,3,4)\n", `FILE:1: field "value": found ",3,4)"; expected a 64-bit decimal integer`},
		{"plume", "w(99999999999999999999,1,3,4)\n", `FILE:1: field "key"`},
		{"plume", "w(1,2,3,4) r(1,2,3,4)", ``},
		{"plume", "w(1,2,3,4)x", `FILE:1: found "x" behind the operation`},
		{"awdit", "w 1 2\nr 1\n", `FILE:2: field "value": found ""; expected an integer`},
		{"awdit", "w 1 2\nq 1 2\n", `FILE:2: found "q"; expected "r key value"`},
		{"dbcop", string(header[:20]), `FILE:byte 16: field "variables asked for": found the end of the file after 4 bytes; expected 8`},
		{"dbcop", string(le(slices.Clone(header), 1<<50)), `a count of 1125899906842624; 0 bytes are left`},
		{"dbcop", string(append(bincode([][]event{{{true, 1, 1, true}}}), 'x')), `found 1 bytes behind the last session`},
		{"timekiller", `[{"sts":{"p":1},"cts":{"p":0},"ops":[]}]`, `FILE:1: field "cts": is before sts`},
		{"timekiller", `[{"sts":{"p":1},"cts":{"p":2}}]`, `FILE:1: field "ops": missing`},
		{"timekiller", `[{"sts":{"p":1},"cts":{"p":2},"ops":[{"t":"x","k":1}]}]`, `field "t": found x; expected r, w or a`},
		{"timekiller", `[{"sts":{"p":1},"cts":{"p":2},"ops":[{"t":"r","k":1,"v":[1]}]}]`, `field "v": found [; expected an integer`},
		{"jepsen-edn", `{:type :ok :value [[:w 1 2]`, `FILE:1: found the end of the file; expected ]`},
		{"jepsen-edn", "{:type :ok\n:value [[:x 1 2]]}", `FILE:2: field "value": found [; expected micro-operations`},
		{"jepsen-edn", "{:type :ok\n:value [[:w 1 2] [:x 1 2]]}", `FILE:2: field "value": found the micro-operation x; expected r, w or append`},
		{"jepsen-edn", "{:type :ok\n:value [[:w 1 nil]]}", `FILE:2: field "value": found nil; expected the value that is written`},
		{"jepsen-edn", "{:type :maybe}", `field "type": found maybe; expected invoke, ok, fail or info`},
		{"jepsen-edn", "{:type :invoke :process 1 :value [[:w 1 2]]}\n{:type :invoke :process 1 :value [[:w 1 3]]}", `FILE:2: field "process": process 1 invokes while its operation of line 1 is not completed`},
		{"jepsen-edn", "{:type :invoke :f :transfer :value {:from 1 :to 2 :amount 3}}", `a bank history: a transfer does not say what it wrote`},
		{"jepsen-edn", "{:type :invoke :f :add :value 1} {:type :ok :f :read :value 1}", `a counter history: an add does not say what it wrote`},
		{"jepsen-json", `[{"type":"ok","value":[["w",1,2]]},`, `FILE:1: found the end of the file; expected ]`},
		{"jepsen-json", `[{"type":"ok","value":[["w",1,2]],"process":{}}]`, `field "process": found {; expected an integer`},
		{"porcupine", "INFO  jepsen.util - 0\t:invoke\t:write\tx\n", `FILE:1: field "value": found "x"; expected an integer or nil`},
		{"porcupine", "INFO  jepsen.util - 0\t:ok\t:read\t1\n", `FILE:1: field "type": found ":ok"; expected :invoke before a completion`},
	} {
		path := write(t, "in", []byte(c.text))
		_, err := Read(t.Context(), path, Options{Format: c.format})
		if c.want == "" {
			if err != nil {
				t.Errorf("%s, %q: %v", c.format, c.text, err)
			}
			continue
		}
		if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(strings.ReplaceAll(err.Error(), path, "FILE"), c.want) {
			t.Errorf("%s, %q: %v; want %s", c.format, c.text, err, c.want)
		}
	}
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{map[string]string{"T1.log": string(be(be(nil, 'S', 1), 'W', 1, 2, 3))}, "T1.log:byte 34: found the end of the file within transaction 1"},
		{map[string]string{"T1.log": string(be(be(nil, 'S', 1), 'X', 1))}, "T1.log:byte 9: found the byte 0x58; expected a record"},
		{map[string]string{"T1.log": string(be(be(nil, 'S', 1), 'C', 2))}, "T1.log:byte 9: found the end of transaction 2; expected that of 1"},
		{map[string]string{"T1.log": string(be(nil, 'S', 1)[:7])}, "T1.log:byte 0: found the end of the file after 7 bytes of a record S; expected 9"},
		{map[string]string{"J1.log": ""}, "J1.log:1: the file is empty, like all logs of the folder"},
		{map[string]string{"J1.log": "{\"value\":[]}\n{\"values\":[]}"}, `J1.log:2: field "value": missing`},
		{map[string]string{"J1.log": `{"value":[["r",1]]}`}, `J1.log:1: field "value": an operation r with 1 arguments; expected 3`},
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
		}},
		{"plume", false, []string{
			"{\"format\":\"isovet-history\",\"version\":1,\"initial\":0}\n{\"session\":3,\"ops\":[[\"w\",1,1],[\"r\",2,0]]}\n{\"session\":4,\"status\":\"aborted\",\"ops\":[[\"w\",1,2]]}",
			"{\"init\":true,\"ops\":[[\"w\",1,5]]}\n{\"session\":3,\"ops\":[[\"r\",1,5]]}",
		}},
		{"polysi", false, []string{"{\"format\":\"isovet-history\",\"version\":1,\"initial\":0}\n{\"session\":3,\"ops\":[[\"w\",1,1],[\"r\",2,0]]}\n{\"session\":4,\"ops\":[[\"w\",1,2]]}"}},
		{"dbcop", false, []string{
			"{\"format\":\"isovet-history\",\"version\":1,\"initial\":0}\n{\"session\":3,\"ops\":[[\"w\",1,1],[\"r\",2,0]]}\n{\"session\":4,\"status\":\"aborted\",\"ops\":[[\"w\",1,2]]}",
			"{\"init\":true,\"ops\":[[\"w\",1,5]]}\n{\"session\":3,\"ops\":[[\"r\",1,5]]}",
		}},
	} {
		for _, doc := range c.docs {
			h, err := Read(t.Context(), write(t, "in", []byte(doc)), Options{})
			if err != nil {
				t.Fatal(err)
			}
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
				if d := history.Diff(h, g); d != "" {
					t.Errorf("%s: %s", c.format, d)
				}
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
			if d := history.Diff(h, g); d != "" {
				t.Errorf("%s: %s", c.format, d)
			}
		}
	}
}

// What a format cannot hold is refused by its name, and dropped with lossy; what cannot be said at all is refused always.
func TestLossy(t *testing.T) {
	for _, c := range []struct {
		format, doc, want, wantLossy string
	}{
		{"plume", `{"session":1,"start":1,"end":2,"ops":[["w",1,1]]}`, "format plume cannot hold what the history has: times;", ""},
		{"polysi", `{"session":1,"status":"aborted","ops":[["w",1,1]]}`, "cannot hold what the history has: aborted", ""},
		{"dbcop", `{"session":1,"status":"unknown","ops":[["w",1,1]]}`, "cannot hold what the history has: unknown", ""},
		{"plume", `{"session":1,"ops":[["w","x",1]]}`, `format plume: key "x" is a string; expected an integer`, ""},
		{"plume", `{"session":1,"ops":[["w",1,0]]}`, `format plume: key 1 has the value 0, which readers of the format take for its initial one`, ""},
		{"dbcop", `{"session":1,"ops":[["r",1,null]]}`, `format dbcop: key 1 has the value null; expected an integer`, ""},
		{"plume", `{"session":1,"ops":[["a",1,1]]}`, `cannot hold what the history has: lists`, "the history has list operations"},
		{"jepsen-edn", `{"session":1,"ops":[["w",1,1],["w",1,null]]}`, `the history deletes keys`, `the history deletes keys`},
		{"awdit", `{"session":1,"ops":[["w",1,1]]}`, "format awdit is only read, not written", "format awdit is only read, not written"},
	} {
		h, err := Read(t.Context(), write(t, "in", []byte(c.doc)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := Write(filepath.Join(dir, "a"), h, c.format, false); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v; want %s", c.format, c.doc, err, c.want)
		}
		err = Write(filepath.Join(dir, "b"), h, c.format, true)
		if c.wantLossy == "" && err != nil || c.wantLossy != "" && (err == nil || !strings.Contains(err.Error(), c.wantLossy)) {
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
		if x.Name != "isovet-history" && x.Name != "isovet-native" && x.Name != "cobra" && x.Name != "viper" {
			formats = append(formats, x)
		}
	}
	for _, s := range samples {
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
	for _, s := range samples {
		for name, text := range s.files {
			if s.format == "cobra" || s.format == "viper" {
				f.Add([]byte(text), strings.HasPrefix(name, "T"))
			}
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte, isCobra bool) {
		dir, err := os.MkdirTemp(dir, "*")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		x, name := viperJSON, "J1.log"
		if isCobra {
			x, name = cobraLog, "T1.log"
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := x.Read(t.Context(), &Input{Name: dir, Path: dir, Dir: true}, Options{}); err != nil {
			if _, ok := errors.AsType[*history.InputError](err); !ok {
				t.Errorf("%s: %v is not an input error", x.Name, err)
			}
		}
	})
}
