package history_test

import (
	"os"
	"strings"
	"testing"

	"isovet/history/operations"
	"isovet/internal/test/must"
)

// TestOperationsBeginnings reads files of one history that begin differently.
func TestOperationsBeginnings(t *testing.T) {
	const call = `{:type :invoke, :process 0, :f :enqueue, :value 1}`
	const done = `{:type :ok, :process 0, :f :enqueue, :value 1}`
	for _, file := range []string{
		call + "\n" + done,
		"[\n" + call + "\n" + done + "]",
		"(" + call + done + ")",
		"; a comment\n\n; and one more\n[" + call + done + "]",
		"#jepsen.history.Op" + call + "\n#jepsen.history.Op" + done,
	} {
		h, err := operations.Read([]byte(file), "h.edn")
		switch {
		case err != nil:
			t.Errorf("%v\n%s", err, file)
		case !operations.Is([]byte(file)) || operations.Tell(h) != "unordered-queue" || len(h.Ops) != 1 ||
			h.Ops[0].Status != operations.OK:
			t.Errorf("not told as a queue: %+v\n%s", h.Ops, file)
		}
	}
}

// TestOperationsProcesses has no client's operation left out without a word.
func TestOperationsProcesses(t *testing.T) {
	for process, bad := range map[string]bool{
		":process 0": false, ":process :nemesis": false, "": true, ":process nil": true,
		":process 99999999999999999999": true, ":process 1.5": true,
	} {
		_, err := operations.Read([]byte("{:type :invoke, :f :add, :value 1, "+process+"}"), "h.edn")
		if (err != nil) != bad || bad && !strings.Contains(err.Error(), `h.edn:1: field "process"`) {
			t.Errorf("%q: error %v", process, err)
		}
	}
	if _, err := operations.Read([]byte("{:type :info, :f :start, :value nil}"), "h.edn"); err != nil {
		t.Errorf("what nobody invoked: %v", err)
	}
}

// TestOperationsStores reads the files of a run's folder: the same operations, and the settings of the test's map.
func TestOperationsStores(t *testing.T) {
	file := must.Get(os.ReadFile("operations/testdata/bank.jepsen"))(t)
	const log = "2026-01-01 10:00:00,100{GMT}\tINFO\t[main] jepsen.core: Running test:\n{:name \"bank\"\n " +
		":os #object[jepsen.os 0x1 \"x\"]\n :accounts [0 1],\n :total-amount 20}\n" +
		"2026-01-01 10:00:01,100{GMT}\tINFO\t[jepsen worker nemesis] jepsen.util: :nemesis\t:info\t:start\tnil\n" +
		"2026-01-01 10:00:01,200{GMT}\tINFO\t[jepsen worker 0] jepsen.util: 0\t:invoke\t:read\tnil\n" +
		"2026-01-01 10:00:01,200{GMT}\tWARN\t[jepsen worker 0] jepsen.util: odd\n" +
		"2026-01-01 10:00:01,300{GMT}\tINFO\t[jepsen worker 0] jepsen.util: 0\t:ok\t:read\t{0 10, 1 5}\n"
	for name, data := range map[string][]byte{"test.jepsen": file, "jepsen.log": []byte(log)} {
		h, err := operations.Read(data, name)
		if err != nil || len(h.Ops) != 1 || h.Ops[0].Status != operations.OK ||
			operations.Text(h.Ops[0].Out) != "{0 10, 1 5}" {
			t.Errorf("%s: %+v, %v", name, h, err)
		} else if h.Test.Get("total-amount") != int64(20) || operations.Text(h.Test.Get("accounts")) != "[0 1]" {
			t.Errorf("%s: the test's map is %v", name, h.Test)
		}
	}
	if m, err := operations.TestOf(file, "test.jepsen"); err != nil || m.Get("total-amount") != int64(20) {
		t.Errorf("the test's map is %v, %v", m, err)
	}
	// What is no operation is an error in history.txt, and a log has one.
	for _, text := range []string{"0\t:invoke\t:read\tnil\nodd jepsen.util: 0 :ok :read 1\n", "x jepsen.util: odd\n"} {
		if h, err := operations.Read([]byte(text), "f"); err == nil {
			t.Errorf("%q is read: %+v", text, h.Ops)
		}
	}
	h, err := operations.Read([]byte("0\t:invoke\t:o\t5\n0\t:ok\t:o\t5\n"), "f")
	must.Be(t, err == nil && h.Ops[0].Out == int64(5), "a function whose name begins the type's: %+v, %v", h, err)
}
