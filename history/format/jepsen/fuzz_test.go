package jepsen

import (
	"bytes"
	"errors"
	"testing"

	"isovet/history"
	"isovet/internal/test/must"
)

var seeds = []string{
	"{:type :invoke, :f :txn, :value [[:append 1 2] [:r 3 nil]], :process 0, :time 10, :index 0}\n{:type :ok, :f " +
		":txn, :value [[:append 1 2] [:r 3 [4]]], :process 0, :time 13, :index 1}",
	"[{:type :invoke :f :cas :value [7 [1 2]] :process 0 :time 4} {:type :ok :f :cas :value [7 [3 [1 2]]] :client 0 " +
		":time 3}]",
	"{:type :ok :f :write :key :a :value [1 2]} {:type :ok :f :read :key #object[a 0x1f] :value ##NaN}",
	"[0 :invoke :write 3]\n[:nemesis :info :start nil]\n[0 :info :write 3 :timeout]\n[1 :ok :read 3]",
	"[[0 :ok :add [0 4]] [1 :ok :read [0 #{4}]]]",
	`[{"type":"invoke","f":"txn","value":[["write","x",1],["read","y",null]],"process":"n1","index":1,"time":5},{"index":1,"type":"fail","process":"n1"}]`,
	`{"history":[{"type":"ok","value":[["w",1,1]]}]}`,
	"3\t:invoke\t:txn\t[[:r 1 nil]]\nhello\n3\t:ok\t:txn\t[[:r 1 2]]\n",
	"2021-02-26 23:39:01,300{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1\t:invoke\t:acquire\tnil\nINFO jepsen.util " +
		"- :nemesis :info :start \"n4\"\n\"n4\" :ok :acquire [1 2]\n",
	"{:type :invoke :f :read} {:type :ok :f :read :value [1 [2 3] #_ 4]}",
}

// Whatever the bytes, in whatever notation: a history, or an input error; and the same again from what is written of
// it.
func FuzzRead(f *testing.F) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, o := range []Options{{}, {RealTime: "time"}, {RealTime: "index"}, {RealTime: "none"}, {JSON: true}} {
			h, err := Read(data, "f", o)
			check(t, h, err)
		}
		h, err := ReadLog(data, "f", Options{})
		check(t, h, err)
		Is(data, false)
		Is(data, true)
		IsLog(data)
	})
}

func check(t *testing.T, h *history.History, err error) {
	if err != nil {
		if _, ok := errors.AsType[*history.InputError](err); !ok {
			t.Fatalf("%v is no input error", err)
		}
		return
	}
	if Check(h, false) != nil {
		return
	}
	var buf bytes.Buffer
	must.OK(t, Write(&buf, h))
	if h.NumTxns() == 0 {
		return
	}
	again := must.Get(Read(buf.Bytes(), "again", Options{}))(t)
	if again.NumTxns() > h.NumTxns() || again.NumOps() > h.NumOps() {
		t.Fatalf("written as %q: %d transactions of %d operations; there were %d of %d", buf.Bytes(), again.NumTxns(),
			again.NumOps(), h.NumTxns(), h.NumOps())
	}
}
