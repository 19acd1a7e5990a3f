package workloads

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"isovet/evidence"
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
		if a := judged(t, name, text); a.Verdict != evidence.Holds {
			t.Errorf("%s: %+v", name, a)
		}
	}
}
