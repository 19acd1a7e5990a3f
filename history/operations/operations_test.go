package operations

import (
	"strings"
	"testing"
)

// TestBeginnings reads files of one history that begin differently.
func TestBeginnings(t *testing.T) {
	const call = `{:type :invoke, :process 0, :f :enqueue, :value 1}`
	const done = `{:type :ok, :process 0, :f :enqueue, :value 1}`
	for _, file := range []string{
		call + "\n" + done,
		"[\n" + call + "\n" + done + "]",
		"(" + call + done + ")",
		"; a comment\n\n; and one more\n[" + call + done + "]",
		"#jepsen.history.Op" + call + "\n#jepsen.history.Op" + done,
	} {
		h, err := Read([]byte(file), "h.edn")
		switch {
		case err != nil:
			t.Errorf("%v\n%s", err, file)
		case !Is([]byte(file)) || Tell(h) != "unordered-queue" || len(h.Ops) != 1 || h.Ops[0].Status != OK:
			t.Errorf("not told as a queue: %+v\n%s", h.Ops, file)
		}
	}
}

// TestProcesses has no client's operation left out without a word.
func TestProcesses(t *testing.T) {
	for process, bad := range map[string]bool{
		":process 0": false, ":process :nemesis": false, "": true, ":process nil": true,
		":process 99999999999999999999": true, ":process 1.5": true,
	} {
		_, err := Read([]byte("{:type :invoke, :f :add, :value 1, "+process+"}"), "h.edn")
		if (err != nil) != bad || bad && !strings.Contains(err.Error(), `h.edn:1: field "process"`) {
			t.Errorf("%q: error %v", process, err)
		}
	}
	if _, err := Read([]byte("{:type :info, :f :start, :value nil}"), "h.edn"); err != nil {
		t.Errorf("what nobody invoked: %v", err)
	}
}
