package workloads

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/test/must"
)

// TestSettings: a setting without a meaning is an error that says what was expected.
func TestSettings(t *testing.T) {
	for name, want := range map[string]string{"semaphore:permits=0": "a positive integer",
		"long-fork:group=-1": "a positive integer", "bank:total=x": "an integer", "bank:negative=maybe": "yes or no",
		"set-full:linearizable=": "yes or no", "bank:accounts=9-1": "a range", "semaphore:permits=2": "",
		"bank:total=-1,negative=no,accounts=0-7": "", "bank:accounts=a|b": ""} {
		_, _, err := Lookup(name)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), "expected "+want) {
			t.Errorf("%s: %v; expected %q", name, err, want)
		}
	}
}

// TestMisheard has histories that were misjudged: of processes with names, a poll without an answer that shows a gap,
// an operation without a key among keyed ones, and one that takes two permits.
func TestMisheard(t *testing.T) {
	op := func(process, kind, f, value string) string {
		return fmt.Sprintf("{:type :%s, :process %s, :f :%s, :value %s}\n", kind, process, f, value)
	}
	queue := op(`"c1"`, "invoke", "enqueue", "1") + op(`"c1"`, "ok", "enqueue", "1") + op("0", "invoke", "dequeue", "nil") +
		op("0", "ok", "dequeue", "1") + op(`"c2"`, "info", "pause", "nil") + op(":nemesis", "info", "kill", "nil")
	must.Equal(t, judged(t, "unordered-queue", queue).Verdict, evidence.Holds, "a client with a name")
	sent, polls := "[[:send 1 [0 1]] [:send 1 [1 2]] [:send 1 [2 3]]]", "[[:poll {1 [[0 1] [1 2] [2 3]]}]]"
	logs := op("1", "invoke", "send", "[[:send 1 1] [:send 1 2] [:send 1 3]]") + op("1", "ok", "send", sent) +
		op("2", "invoke", "poll", "[[:poll]]") + op("2", "ok", "poll", polls) + op("0", "invoke", "poll", "[[:poll]]") +
		op("0", "ok", "poll", "[[:poll {1 [[0 1]]}]]") + op("0", "invoke", "poll", "[[:poll]]") +
		op("0", "info", "poll", "[[:poll {1 [[2 3]]}]]")
	must.Equal(t, judged(t, "kafka", logs).Counts["poll-skip"], 1, "a poll without an answer")
	refused(t, "semaphore", op("0", "invoke", "acquire", "2")+op("0", "ok", "acquire", "2"), "one permit")
	keyed := op("0", "invoke", "add", "[1 5]") + op("0", "ok", "add", "[1 5]") + op("0", "invoke", "read", "[1 nil]") +
		op("0", "ok", "read", "[1 #{5}]")
	for last, want := range map[string]string{op("1", "invoke", "read", "nil"): "line 3",
		op("1", "invoke", "add", "[1 6]") + op("1", "fail", "add", ":empty"): ""} {
		w, settings, err := Lookup("set")
		must.OK(t, err)
		h := must.Get(operations.Read([]byte(keyed+last), "h.edn"))(t)
		a, err := w.Check(t.Context(), h, Options{Settings: settings})
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v, %v; expected an error with %q", a, err, want)
		} else if want == "" && (err != nil || a.Verdict != evidence.Holds) {
			t.Errorf("%+v, %v; expected that it holds", a, err)
		}
	}
}

// TestLastMoment: calls and returns may be at the ends of time.
func TestLastMoment(t *testing.T) {
	line := func(f, value, result string, start, end int64) string {
		return fmt.Sprintf(`{"process": %d, "f": %q, "value": %s, "result": %s, "start": %d, "end": %d}`+"\n", start%7, f,
			value, result, start, end)
	}
	first, last := int64(math.MinInt64+1), int64(math.MaxInt64)
	for name, text := range map[string]string{
		"counter": line("add", "5", "null", first, first+1) + line("add", "1", "null", last-3, last) +
			line("read", "null", "6", last-2, last),
		"causal-reverse": line("write", "1", "null", first, first+1) + line("write", "2", "null", last-3, last-2) +
			line("read", "null", "[1, 2]", last-1, last),
		"queue": line("enqueue", "1", "null", first, first+1) + line("dequeue", "null", "1", last-1, last),
		"stack": line("push", "1", "null", first, first+1) + line("pop", "null", "1", last-1, last),
	} {
		must.Equal(t, judged(t, name, text).Verdict, evidence.Holds, "%s", name)
	}
}
