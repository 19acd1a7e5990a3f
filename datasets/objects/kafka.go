package objects

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// kafka is three logs and one group of consumers. The last poll reads everything. A faulty one loses a value that it
// acknowledged.
func kafka() *object {
	const keys, most = 3, 5
	var logs [keys][]string // by key, [offset value]
	var next, offsets [keys]int
	poll := func(all bool) string {
		var b strings.Builder
		for k := range logs {
			from, to := next[k], min(next[k]+most, len(logs[k]))
			if all {
				from, to = 0, len(logs[k])
			}
			fmt.Fprintf(&b, "%d [%s] ", k, strings.Join(logs[k][from:to], " "))
			next[k] = to
		}
		return "[[:poll {" + strings.TrimSpace(b.String()) + "}]]"
	}
	return &object{about: "logs of values", last: "poll", ask: func(r *rand.Rand, n int) (string, string) {
		switch {
		case n == 0:
			return "subscribe", "[0 1 2]"
		case r.IntN(2) == 0:
			return "poll", "[[:poll]]"
		}
		return "send", fmt.Sprintf("[[:send %d %d]]", r.IntN(keys), n)
	}, do: func(_ *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		if f == "poll" {
			return poll(v == "nil"), false, false
		}
		var key, value int
		if _, err := fmt.Sscanf(v, "[[:send %d %d]]", &key, &value); err != nil {
			return v, false, false // it subscribes
		}
		offset := offsets[key]
		offsets[key]++
		if !broken {
			logs[key] = append(logs[key], fmt.Sprintf("[%d %d]", offset, value))
		}
		return fmt.Sprintf("[[:send %d [%d %d]]]", key, offset, value), false, broken
	}}
}
