package format

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"isovet/history"
	"isovet/internal/test/histtest/diff"
)

// sample is a history in a format, and the same in the project's own.
type sample struct {
	format string
	files  map[string]string
	want   string
}

// jepsenSamples are of the kinds of files that people have of Jepsen, Elle and Knossos, for TestForeign.
var jepsenSamples = []sample{
	// A time that is the same throughout tells nothing: the index does, and without one the order.
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :value 1 :process 0 :time 5 :index 10}
		{:type :ok :f :write :value 1 :process 0 :time 5 :index 12}`}, `
		{"id":12,"session":0,"start":10,"end":12,"ops":[["w","register",1]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :value 1 :process 0 :time -1} {:type :ok :f :write :value 1 :process 0 :time -1}`}, `
		{"session":0,"start":0,"end":1,"ops":[["w","register",1]]}`},
	// Times that go back between processes are times; within one they are not.
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :value 1 :process 0 :time 10} {:type :ok :f :write :value 1 :process 0 :time 100}
		{:type :invoke :f :read :process 1 :time 20} {:type :ok :f :read :value 1 :process 1 :time 50}`}, `
		{"session":0,"start":10,"end":100,"ops":[["w","register",1]]}
		{"session":1,"start":20,"end":50,"ops":[["r","register",1]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :value 1 :process 0 :time 10} {:type :ok :f :write :value 1 :process 0 :time 9}
		{:type :invoke :f :read :process 1 :time 20} {:type :ok :f :read :value 1 :process 1 :time 50}`}, `
		{"session":0,"start":0,"end":1,"ops":[["w","register",1]]}
		{"session":1,"start":2,"end":3,"ops":[["r","register",1]]}`},
	// One without a time: the order.
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :value 1 :process 0 :time 10} {:type :ok :f :write :value 1 :process 0}`}, `
		{"session":0,"start":0,"end":1,"ops":[["w","register",1]]}`},
	// Operations that are not where their index says.
	{"jepsen-edn", map[string]string{"": `{:type :ok :f :write :value 1 :process 0 :index 1} {:type :invoke :f :write :value 1 :process 0 :index 0}`}, `
		{"id":1,"session":0,"start":0,"end":1,"ops":[["w","register",1]]}`},
	// Keys as a field, of registers, compare-and-set, sets and locks; three values are a key and a compare-and-set.
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :key "a" :value 1 :process 0} {:type :ok :f :write :key "a" :value 1 :process 0}
		{:type :invoke :f :cas :key 7 :value [1 2] :process 0} {:type :ok :f :cas :key 7 :value [1 2] :process 0}
		{:type :invoke :f :cas :value ["a" 1 nil] :process 0} {:type :ok :f :cas :value ["a" 1 3] :process 0}
		{:type :invoke :f :read :key "a" :process 0} {:type :ok :f :read :value 3 :process 0}`}, `
		{"session":0,"start":0,"end":1,"ops":[["w","a",1]]}
		{"session":0,"start":2,"end":3,"ops":[["r",7,1],["w",7,2]]}
		{"session":0,"start":4,"end":5,"ops":[["r","a",1],["w","a",3]]}
		{"session":0,"start":6,"end":7,"ops":[["r","a",3]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :add :key 0 :value 4 :process 1} {:type :ok :f :add :key 0 :value 4 :process 1} {:type :invoke :f :read :key 0 :process 1}
		{:type :ok :f :read :key 0 :value #{4} :process 1}`}, `
		{"session":1,"start":0,"end":1,"ops":[["w","0 4",1]]}
		{"session":1,"start":2,"end":3,"ops":[["pr",{"key":{">=":"0 ","<":"0!"}},[["0 4",1]]]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :acquire :value ["x" nil] :process 1} {:type :ok :f :acquire :value ["x" 17] :process 1}
		{:type :invoke :f :acquire :key 2 :process 2} {:type :ok :f :acquire :key 2 :value {:fence 3} :process 2}`}, `
		{"format":"isovet-history","version":1,"initial":0}
		{"session":1,"start":0,"end":1,"ops":[["r","lock \"x\"",0],["w","lock \"x\"",1]]}
		{"session":2,"start":2,"end":3,"ops":[["r","lock 2",0],["w","lock 2",1]]}`},
	// An ok that does not say again what was written: others read it.
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :txn :value [[:append 1 1]] :process 0} {:type :ok :f :txn :value nil :process 0}
		{:type :invoke :f :txn :value [[:append 1 2]] :process 1} {:type :ok :f :txn :process 1}
		{:type :invoke :f :txn :value [[:append 1 3]] :process 1} {:type :ok :f :txn :value [] :process 1}`}, `
		{"format":"isovet-history","version":1,"model":"list"}
		{"session":0,"start":0,"end":1,"ops":[["a",1,1]]}
		{"session":1,"start":2,"end":3,"ops":[["a",1,2]]}
		{"session":1,"start":4,"end":5,"ops":[["a",1,3]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :value 5 :process 0} {:type :ok :f :write :value nil :process 0}
		{:type :invoke :f :read :value nil :process 0} {:type :ok :f :read :value 5 :process 0}`}, `
		{"session":0,"start":0,"end":1,"ops":[["w","register",5]]}
		{"session":0,"start":2,"end":3,"ops":[["r","register",5]]}`},
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :value [7 6] :process 0}
		{:type :ok :f :write :value [7 nil] :process 0}`}, `
		{"session":0,"start":0,"end":1,"ops":[["w",7,6]]}`},
	// Transactions of jepsen.independent.
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :txn :value [7 [[:w 1 1] [:r :x nil]]] :process 0}
		{:type :ok :f :txn :value [7 [[:w 1 1] [:r :x nil]]] :process 0}
		{:type :invoke :f :txn :value ["a b" [[:w 1 1]]] :process 0}
		{:type :info :f :txn :value ["a b" [[:w 1 1]]] :process 0}
		{:type :ok :f :txn :value [7 []] :process 2}`}, `
		{"session":0,"start":0,"end":1,"ops":[["w","7 1",1],["r","7 x",null]]}
		{"session":0,"status":"unknown","start":2,"ops":[["w","a b 1",1]]}`},
	{"jepsen-json", map[string]string{"": `[{"type":"invoke","f":"txn","value":["k",[["append",1,1]]],"process":0},
		{"type":"ok","f":"txn","value":["k",[["append",1,1]]],"process":0},
		{"type":"ok","f":"txn","value":["k",[["r",1,[1]]]],"process":1}]`}, `
		{"format":"isovet-history","version":1,"model":"list"}
		{"session":0,"start":0,"end":1,"ops":[["a","k 1",1]]}
		{"session":1,"ops":[["r","k 1",[1]]]}`},
	// Micro-operations in full.
	{"jepsen-edn", map[string]string{"": `{:type :invoke :process 0 :f :txn :value [[:read :x nil] [:write :y 2]]} {:type :ok :process 0 :f :txn :value [[:read :x 1] [:write :y 2]]}`}, `
		{"session":0,"start":0,"end":1,"ops":[["r","x",1],["w","y",2]]}`},
	// Values with the versions that the database gave them.
	{"jepsen-edn", map[string]string{"": `{:type :invoke :f :write :value [7 [nil 3]] :process 0} {:type :ok :f :write :value [7 [1 3]] :process 0}
		{:type :invoke :f :cas :value [7 [nil [3 4]]] :process 0} {:type :ok :f :cas :value [7 [2 [3 4]]] :process 0}
		{:type :invoke :f :read :value [7 [nil nil]] :process 0} {:type :ok :f :read :value [7 [2 4]] :process 0}`}, `
		{"session":0,"start":0,"end":1,"ops":[["w",7,3]]}
		{"session":0,"start":2,"end":3,"ops":[["r",7,3],["w",7,4]]}
		{"session":0,"start":4,"end":5,"ops":[["r",7,4]]}`},
	// What Clojure prints of objects, where it does not matter; a byte order mark; a client for the process; processes
	// with names.
	{"jepsen-edn", map[string]string{"": "\xef\xbb\xbf" +
		`{:type :info, :f :kill, :process :nemesis, :value #object[java.lang.Object 0x1f "x"] :error ##NaN}
		{:type :ok, :f :txn, :value [[:w 1 1]], :client 3, :error #<Exception x: [>, :node #"n[0-9]"}
		{:type :ok, :f :txn, :value [[:w 1 2]], :client 3, :process "n1"} {:type :info :process :admin :f :restart}`}, `
		{"session":3,"ops":[["w",1,1]]}
		{"session":-1,"ops":[["w",1,2]]}`},
	// Operations that are vectors, one after another or in a vector; the history as a part of a test.
	{"jepsen-edn", map[string]string{"": "[70  :invoke :read nil]\n[71 :invoke :write 3]\n[70 :ok :read " +
		"3]\n[:nemesis :info :start \"Cut off [:n3\"]\n[71 :info :write 3 :timed-out]\n[:nemesis :info :stop]\n"}, `
		{"session":70,"start":0,"end":2,"ops":[["r","register",3]]}
		{"session":71,"status":"unknown","start":1,"ops":[["w","register",3]]}`},
	{"jepsen-edn", map[string]string{"": "[[0 :ok :write 3]\n[1 :ok :write 4]]"}, `
		{"session":0,"ops":[["w","register",3]]}
		{"session":1,"ops":[["w","register",4]]}`},
	{"jepsen-edn", map[string]string{"": `{:name "x" :history [{:type :ok :process 0 :f :write :value 3}] :valid? true}`}, `
		{"session":0,"ops":[["w","register",3]]}`},
	{"jepsen-json", map[string]string{"": `{"history": [{"type": "ok", "process": 0, "f": "write", "value": 3, "latency": NaN}], "valid": false}`}, `
		{"session":0,"ops":[["w","register",3]]}`},
	{"jepsen-json", map[string]string{"": `[[0, "invoke", "write", 3], [0, "ok", "write", 3]]`}, `
		{"session":0,"start":0,"end":1,"ops":[["w","register",3]]}`},
	// history.txt, its columns parted by tabs or by spaces.
	{"jepsen-log", map[string]string{"": ":nemesis\t:info\t:start\tnil\n3\t:invoke\t:txn\t[[:append 7 1] [:r 8 " +
		"nil]]\n3\t:ok\t:txn\t[[:append 7 1] [:r 8 [2]]]\n8\t:invoke\t:txn\t[[:append 8 2]]\n" +
		"8\t:info\t:txn\t[[:append 8 2]]\tindeterminate: Connection [closed\n"}, `
		{"format":"isovet-history","version":1,"model":"list"}
		{"session":3,"start":2,"end":3,"ops":[["a",7,1],["r",8,[2]]]}
		{"session":8,"status":"unknown","start":4,"ops":[["a",8,2]]}`},
	{"jepsen-log", map[string]string{"": "0        :invoke :write   1\n0        :ok     :write   1\n\"n4\"     " +
		":invoke :read    nil\n\"n4\"     :fail   :read    {oops\n"}, `
		{"session":0,"start":1,"end":2,"ops":[["w","register",1]]}`},
	// jepsen.log, as it is written now and as it was.
	{"jepsen-log", map[string]string{"": "2021-02-26 23:38:59,001{GMT}\tINFO\t[jepsen test runner] jepsen.core: " +
		"Relative time begins now\n" +
		"2021-02-26 23:39:01,300{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1\t:invoke\t:write\t[0 2]\n  at " +
		"java.lang.Thread\n" +
		"2021-02-26 23:39:01,303{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1\t:ok\t:write\t[0 2]\n"}, `
		{"session":1,"start":2,"end":4,"ops":[["w",0,2]]}`},
	{"jepsen-log", map[string]string{"": "INFO  jepsen.core - Worker 0 starting\nINFO  jepsen.util - " +
		"0\t:invoke\t:txn\t[[:r 1 nil]]\nINFO  jepsen.util - 0\t:ok\t:txn\t[[:r 1 2]]\n"}, `
		{"session":0,"start":2,"end":3,"ops":[["r",1,2]]}`},
}

// What readers say of a file beside its history, and what real time is told by.
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
				"takes nil " +
				"for an answer that is not known (--nil absent or --nil initial judges them)"},
		{"twice", "{:type :ok :f :add :value 5}\n{:type :ok :f :read :value [5 6 5]}", Untimed, history.NoTime, false,
			history.NoteTwice, "1 element stands twice in one read of a set, the first at line 2: each is judged as " +
				"if it " +
				"stood there once"},
		{"index", strings.ReplaceAll(write1, "100", "15") + read1, ByIndex, 2, true, "", ""},
		{"none", write1 + read1, Untimed, history.NoTime, false, "", ""},
		{"back", write1 + read1, "", 20, false, history.NoteTimes, "2 times go back, the first at line 3: real time " +
			"is told by time (--real-time index takes the order)"},
		{"back-time", write1 + read1, ByTime, 20, false, history.NoteTimes, "2 times go back, the first at line 3: " +
			"real time is told by time"},
		{"back-index", write1 + read1, ByIndex, 2, true, "", ""},
		{"unlike", strings.ReplaceAll(write1, "100", "5") + read1, "", 2, true, history.NoteTimes,
			"1 time goes back, and 1 operation is before what the same process did before, the first at line 2: " +
				"real time is told by index (--real-time time takes the times)"},
		{"constant", "{:type :invoke :f :write :value 1 :process 0 :time 0}\n{:type :ok :f :write :value 1 :process " +
			"0 :time 0}\n", "", 0, true, history.NoteTimes, "all operations have the time 0: real time is told by " +
			"their order in the file"},
		{"completions", "{:type :ok :f :write :value 1 :process 0 :time 0}\n{:type :ok :f :write :value 2 :process " +
			"0 :time 0}\n", "", history.NoTime, false, "", ""},
		{"some", "{:type :invoke :f :write :value 1 :process 0 :time 7}\n{:type :ok :f :write :value 1 :process 0}\n",
			"", 0, true, history.NoteTimes, "1 operation has no time, the first at line 2: real time is told by " +
				"their order in the file"},
		{"orphan", "{:type :ok :f :write :value 1 :process 0}\n{:type :invoke :f :write :value 2 :process 0}\n", "", 1,
			true, history.NoteTimes, "1 operation completed without an invocation, the first at line 1: nothing " +
				"says when they began"},
		{"index-twice", "{:type :invoke :f :write :value 1 :process 0 :index 3}\n{:type :ok :f :write :value 1 " +
			":process 0 :index 3}\n", "", 0, true, history.NoteTimes, "the index 3 stands at lines 1 and 2: indices " +
			"are not looked at"},
		{"index-order", "{:type :ok :f :write :value 1 :process 0 :index 3}\n{:type :invoke :f :write :value 1 " +
			":process 0 :index 2}\n", "", 2, true, history.NoteTimes,
			"1 operation was not where its index says: all were put in the order of their indices"},
		{"versions", "{:type :ok :f :write :value [0 [1 5]] :process 0}\n", "", history.NoTime, false,
			history.NoteIgnored, "1 value comes with a version that the database gave it: versions are not looked at"},
		{"log", "hello\n\n3\t:invoke\t:write\t1\nthere\n3\t:ok\t:write\t1\n", "", 3, true, history.NoteSkipped,
			`2 lines without an operation were passed over; the first is line 1: "hello"`},
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

// Bad input: where, what, and what was expected. A file without a history is no empty one.
func TestJepsenErrors(t *testing.T) {
	for _, c := range []struct {
		format, text, want string
	}{
		// Two forms in one file, with both lines.
		{"jepsen-edn", "{:type :ok :f :write :value [1 5]}\n{:type :ok :f :read :value 7}",
			`FILE:2: field "value": found a value without a key, where line 1 has a value with a key; expected one form`},
		{"jepsen-edn", "{:type :ok :f :write :value a}\n{:type :ok :f :read :key 3 :value a}",
			`FILE:2: field "value": found a value with a key, where line 1 has a value without a key`},
		{"jepsen-edn", "{:type :ok :f :cas :value [1 2]}\n\n{:type :ok :f :cas :value [:k [1 2]]}",
			`FILE:3: field "value": found a value with a key, where line 1 has`},
		{"jepsen-json", `[{"type":"ok","f":"write","value":["a",1]},` + "\n" + `{"type":"ok","f":"read","value":1}]`,
			`FILE:2: field "value": found a value without a key`},
		{"jepsen-log", "0\t:invoke\t:write\t[1 5]\n0\t:ok\t:write\t[1 5]\n1\t:invoke\t:read\tnil\n1\t:ok\t:read\t5\n",
			`FILE:4: field "value": found a value without a key, where line 2 has a value with a key`},
		{"jepsen-edn", "{:type :ok :f :write :value 5}\n{:type :ok :f :read :value [5 [\"5_1\" nil \"5_0\"]]}",
			`FILE:2: field "value": found a value with a key, where line 1 has a value without a key; expected one form in ` +
				`the file: what is written to be what is read (write k with read [k [subkeys]] is Jepsen's sequential`},
		{"jepsen-edn", "{:type :ok :f :add :value 5}\n{:type :ok :f :read :value [1 #{5}]}", "add v and read #{v …}"},
		{"jepsen-edn", "{:type :ok :f :txn :value [[:w 1 1]]}\n{:type :ok :f :read :value 7}",
			`FILE:2: field "value": found a value without a key, where line 1 has micro-operations`},
		{"jepsen-edn", "{:type :ok :f :txn :value [[:w 1 1]]}\n{:type :ok :f :txn :value [7 [[:r 1 1]]]}",
			"all transactions with a key, [key [[:r k v] …]], or all without"},
		// A completion that is not its invocation's.
		{"jepsen-edn", "{:type :invoke :f :txn :value [[:append 8 1] [:r 9 nil]] :process 0}\n{:type :ok :f :txn " +
			":value " +
			"[[:r 9 []]] :process 0}", `FILE:2: field "value": the completion lacks one, its invocation (line 1) ` +
			`appends 1 to key 8; expected what was invoked`},
		{"jepsen-edn", "{:type :invoke :f :txn :value [[:w 1 5]] :process 0}\n{:type :ok :f :txn :value [[:w 1 6]] " +
			":process 0}", "the completion writes 6 to key 1, its invocation (line 1) writes 5 to key 1"},
		{"jepsen-edn", "{:type :invoke :f :txn :value [[:w \"a\" 5]] :process 0}\n{:type :ok :f :txn :value [[:w " +
			"\"a\" 5] " +
			"[:w \"b\" 6]] :process 0}", `the completion writes 6 to key "b", its invocation (line 1) lacks that`},
		{"jepsen-edn", "{:type :invoke :f :txn :value [[:w 1 5] [:r 2 nil]] :process 0}\n{:type :ok :f :txn :value " +
			"[[:w 1 5]] :process 0}", "the completion lacks one, its invocation (line 1) reads key 2"},
		{"jepsen-edn", "{:type :invoke :f :txn :value [7 [[:w 1 5]]] :process 0}\n{:type :ok :f :txn :value [8 [[:w " +
			"1 5]]] " +
			":process 0}", "the completion has the key 8, its invocation (line 1) the key 7"},
		{"jepsen-edn", "{:type :invoke :f :write :value 5 :process 0}\n{:type :ok :f :write :value 6 :process 0}",
			"the completion has 6, its invocation (line 1) has 5"},
		{"jepsen-json", `[{"type":"invoke","f":"write","key":"x","value":5,"process":0},` + "\n" +
			`{"type":"ok","f":"write","key":"y","value":5,"process":0}]`, `the completion has the key "y", its invocation`},
		{"jepsen-edn", "{:type :invoke :f :cas :value [1 [2 3]] :process 0}\n{:type :ok :f :cas :value [1 [2 4]] " +
			":process 0}", "the completion has [1 [2 4]], its invocation (line 1) has [1 [2 3]]"},
		{"jepsen-edn", "{:type :invoke :f :read :value [1 nil] :process 0}\n{:type :ok :f :read :value [2 7] " +
			":process 0}",
			"the completion has [2 7], its invocation (line 1) has [1 nil]"},
		{"jepsen-edn", "{:type :invoke :f :read :process 0}\n{:type :ok :f :write :value 7 :process 0}",
			"the completion has another :f, its invocation (line 1) has not"},
		{"jepsen-edn", "{:type :invoke :f :write :value [1 2 3] :process 0}",
			`FILE:1: field "value": found a sequence of 3 values; expected a value or [key value]`},
		{"jepsen-edn", "\n{:type :ok :f :read :value [1] :process 0}",
			`FILE:2: field "value": found a sequence of 1 value; expected a value or [key value]`},
		{"jepsen-edn", "{:type :ok :f :write :value [] :process 0}",
			`field "value": found a sequence of 0 values; expected a value or [key value]`},
		{"jepsen-edn", "{:type :ok :f :write :value {:a 1} :process 0}",
			`field "value": found {; expected a value or [key value]`},
		{"jepsen-edn", "{:type :ok :f :write :value [1 {:a 1}] :process 0}",
			`field "value": found {; expected a value or [key value]`},
		{"jepsen-edn", "{:type :ok :f :write :value [nil 1] :process 0}",
			`field "value": found null; expected a key: a number or a word`},
		{"jepsen-edn", "{:type :ok :f :write :key 1 :value [1 2 3] :process 0}",
			`found a sequence of 3 values; expected a value or [version value]`},
		{"jepsen-edn", "{:type :ok :f :write :key [1] :value 2 :process 0}",
			`field "key": found [; expected a number or a word`},
		{"jepsen-edn", "{:type :ok :f :cas :value 1 :process 0}",
			`field "value": found 1; expected [old new] or [key [old new]]`},
		{"jepsen-edn", "{:type :ok :f :cas :value [1 2 3 4] :process 0}",
			`field "value": found a sequence of 4 values; expected [old new]`},
		{"jepsen-edn", "{:type :ok :f :cas :value [1 [2]] :process 0}",
			`field "value": found a sequence of 1 value; expected [old new]`},
		{"jepsen-edn", "{:type :ok :f :cas :value [1 [2 [3 4 5]]] :process 0}",
			`field "value": found a sequence of 3 values; expected [old new]`},
		{"jepsen-edn", "{:type :ok :f :cas :key 1 :value [1 2 3] :process 0}",
			`field "value": found a sequence of 3 values; expected [old new]`},
		{"jepsen-edn", "{:type :ok :f :add :value [1 2 3] :process 0}",
			`field "value": found 3; expected the end of [key value]`},
		{"jepsen-edn", "{:type :ok :f :write :value #object[a 0x1f]}",
			`field "value": found #object[a 0x1f]; expected a value or [key value]`},
		{"jepsen-edn", "{:type :ok :f :write :value #<a b>}",
			`field "value": found #<a b>; expected a value or [key value]`},
		{"jepsen-edn", "{:type :ok :f :poll :value 1 :process 0}",
			`field "f": found poll; expected a transaction, or one of read, write, cas, acquire, release and add`},
		{"jepsen-edn", "{:type :ok :value [[:r 1 2 3]]}",
			`field "value": found 3; expected the end of the micro-operation`},
		{"jepsen-edn", "{:type :invoke :value [[:w 1 1] [:r 2 nil]]}\n{:type :ok :value nil}",
			`FILE:2: field "value": none, or an empty one, of a transaction that is ok and reads (line 1); expected its micro-operations`},
		{"jepsen-edn", "{:type :invoke :value [[:r 2 nil]]}\n{:type :ok}",
			`FILE:2: field "value": none, or an empty one, of a transaction that is ok and reads (line 1)`},
		{"jepsen-edn", "[0 :invoke]", `field "f": missing; expected [process type f value]`},
		{"jepsen-edn", "[0 :start :read]", `field "type": found start; expected invoke, ok, fail or info`},
		{"jepsen-edn", "[{} 1]", `field "type": missing`},
		{"jepsen-edn", "[1.5 :ok :read nil]", `field "process": found 1.5; expected an integer or a name`},
		{"jepsen-edn", "hello", `FILE:1: found hello; expected an operation: a map, or a vector [process type f value]`},
		{"jepsen-edn", "[]", `FILE:1: found no operation; expected a history`},
		{"jepsen-edn", "; nothing\n", `FILE:1: found no operation; expected a history`},
		{"jepsen-edn", "{:type :info :process :nemesis :f :kill}",
			`FILE:1: found 1 operation, not of a client; expected a history`},
		{"jepsen-edn", "[{:type :ok :value [[:w 1 1]]}] 5", `found 5 behind the history; expected the end of the file`},
		{"jepsen-json", `{"type":"ok","value":[["w",1,1]],"time":NaN}`, `field "time": found NaN; expected an integer`},
		{"jepsen-log", "hello\nworld\n",
			`FILE:1: no line is an operation; expected process, type, f and value, as in 0 :invoke :read nil; the first line is "hello"`},
		{"jepsen-log", "0 :invoke :write [1\n0 :ok :write [1 2]\n",
			`FILE:1: field "value": found "[1"; expected a value in EDN`},
		{"jepsen-log", "0 :invoke :write 1\n0 :invoke :write 2\n",
			`FILE:2: field "process": process 0 invokes while its operation of line 1 is not completed`},
		{"jepsen-log", ":nemesis :info :start nil\n", `found 1 operation, not of a client; expected a history`},
		{"auto", "JEPSEN\x00\x00", `FILE: found Jepsen's test.jepsen, which is binary and not read (history.edn beside it is); expected a history`},
		{"auto", "{:valid? true, :count 3}",
			`FILE: found Jepsen's results (the history is history.edn); expected a history`},
		{"auto", "\xff\xfe{\x00", `FILE: found UTF-16 (expected UTF-8); expected a history`},
		{"auto", "\x01\x02\x00\xff", `FILE:1: unknown format: found a binary file that begins with 0x010200ff; expected isovet-history`},
	} {
		path := write(t, "in", []byte(c.text))
		_, err := Read(t.Context(), path, Options{Format: c.format})
		if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(strings.ReplaceAll(err.Error(),
			path, "FILE"), c.want) {
			t.Errorf("%s, %q: %v; want %s", c.format, c.text, err, c.want)
		}
	}
	for text, want := range map[string]string{
		"{:type :invoke :f :write :value 1}\n{:type :ok :f :write :value 1}":                 `FILE:1: field "time": missing; expected an integer, since real time is to be told by it`,
		"1 :invoke :write 1\n1 :ok :write 1\n":                                               `FILE:1: field "time": missing: lines of a log have none; expected real time by index or none`,
		"{:type :invoke :f :write :value 1 :time 5}\n{:type :ok :f :write :value 1 :time 4}": `FILE:2: field "end": transaction 0 ends at 4, before its start at 5`,
		"{\"ops\":[[\"w\",1,1]]}":                                                            `FILE: real time by time: the history has no times; expected none`,
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
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("test.jepsen", "JEPSEN")
	if _, err := Read(t.Context(), dir, Options{}); err == nil || !strings.Contains(err.Error(),
		"a folder with Jepsen's test.jepsen, which is binary and not read, but without its history.edn; expected") {
		t.Error(err)
	}
	put("results.edn", "{:valid? true}")
	for i, f := range []struct{ name, text string }{
		{"jepsen.log", "1 :ok :write 1\n"},
		{"history.txt", "1 :ok :write 1\n1 :ok :write 2\n"},
		{"history.edn", "[1 :ok :write 1]\n[1 :ok :write 2]\n[1 :ok :write 3]"},
	} {
		put(f.name, f.text)
		h, err := Read(t.Context(), dir, Options{})
		if err != nil || h.NumTxns() != i+1 || h.File != filepath.Join(dir, f.name) {
			t.Errorf("%s: %v", f.name, err)
		}
	}
}

// A byte order mark is no part of a text, in any format, however it is read.
func TestByteOrderMark(t *testing.T) {
	const mark = "\xef\xbb\xbf"
	for i, s := range slices.Concat(samples, jepsenSamples) {
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
