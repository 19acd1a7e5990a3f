package objects

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// longFork has pairs of keys that are each written once. A faulty one shows the two writes to two reads in opposite
// orders.
func longFork() *object {
	written, seen := map[int]bool{}, map[int]bool{} // seen: an answer has the first key of a pair and not the second
	asked := map[int]int{}
	shows := func(k int) string {
		if written[k] {
			return "1"
		}
		return "nil"
	}
	read := func(k int, a, b string) string { return fmt.Sprintf("[[:r %d %s] [:r %d %s]]", k, a, k+1, b) }
	var k int
	return &object{about: "pairs of keys that are written once each", ask: func(r *rand.Rand, n int) (string, string) {
		k := n / 20 * 2
		if asked[k] < 2 && r.IntN(6) == 0 {
			asked[k]++
			return "write", fmt.Sprintf("[[:w %d 1]]", k+asked[k]-1)
		}
		return "read", read(k, "nil", "nil")
	}, do: func(_ *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		if f == "write" {
			_, _ = fmt.Sscanf(v, "[[:w %d", &k)
			written[k] = true
			return v, false, false
		}
		_, _ = fmt.Sscanf(v, "[[:r %d", &k)
		if broken && seen[k] {
			return read(k, "nil", "1"), false, true
		}
		return read(k, shows(k), shows(k+1)), false, false
	}, told: func(_, v, out string) {
		_, _ = fmt.Sscanf(v, "[[:r %d", &k)
		seen[k] = seen[k] || out == read(k, "1", "nil")
	}}
}

// causal has a register for each key. One client uses it, and each operation links to the one before. A faulty one
// returns an older value.
func causal() *object {
	type chain struct {
		key, step, value, at int
		open                 bool // its last operation has no answer
	}
	x := &object{about: "registers with a causal order"}
	of := map[int]*chain{} // by client
	keys, position := 0, 0
	x.ask = func(r *rand.Rand, n int) (string, string) {
		c := of[x.client]
		if c == nil || c.step == 5 || c.open {
			c = &chain{key: keys}
			keys++
			of[x.client] = c
		}
		c.open = true
		if c.step++; c.step%2 == 0 {
			return "write", fmt.Sprintf("[%d %d]", c.key, c.value+1)
		}
		return []string{"read-init", "read", "read"}[c.step/2], fmt.Sprintf("[%d nil]", c.key)
	}
	x.do = func(_ *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		c := of[x.client]
		if f == "write" {
			c.value++
		}
		position++
		link := fmt.Sprint(c.at)
		if c.step == 1 {
			link = ":init"
		}
		value := c.value
		if broken = broken && f == "read"; broken {
			value--
		}
		return fmt.Sprintf("[%d %d], :link %s, :position %d", c.key, value, link, position), false, broken
	}
	x.told = func(string, string, string) { of[x.client].at, of[x.client].open = position, false }
	return x
}

// claims has two inserts for each key, at most one of which may succeed. A faulty one accepts both.
func claims() *object {
	taken, told := map[string]bool{}, map[string]bool{}
	key := func(v string) string { return strings.Fields(v)[0] }
	return &object{about: "inserts that exclude each other", ask: func(_ *rand.Rand, n int) (string, string) {
		return "insert", fmt.Sprintf([]string{"[%d [%d nil]]", "[%d [nil %d]]"}[n%2], n/2, n)
	}, do: func(_ *rand.Rand, _, v string, broken bool) (string, bool, bool) {
		k := key(v)
		broken = broken && told[k]
		failed := taken[k] && !broken
		taken[k] = true
		return v, failed, broken
	}, told: func(_, v, _ string) { told[key(v)] = true }}
}

// parts has keys with two parts that are written in order. A faulty one shows the second part without the first.
func parts() *object {
	written := map[string]bool{}
	return &object{about: "keys written in parts", ask: func(r *rand.Rand, n int) (string, string) {
		if r.IntN(2) == 0 {
			return "write", fmt.Sprint(n)
		}
		return "read", fmt.Sprint(max(0, n-r.IntN(6)))
	}, do: func(_ *rand.Rand, f, v string, broken bool) (string, bool, bool) {
		switch {
		case f == "write":
			written[v] = true
			return v, false, false
		case broken:
			return fmt.Sprintf(`[%s ["%s_1" nil]]`, v, v), false, true
		case written[v]:
			return fmt.Sprintf(`[%s ["%s_1" "%s_0"]]`, v, v, v), false, false
		}
		return fmt.Sprintf("[%s [nil nil]]", v), false, false
	}}
}

// rising has rows whose values increase with their timestamps. A faulty one puts one before another.
func rising() *object {
	var rows []string
	return &object{about: "rows whose values rise", last: "read", ask: func(*rand.Rand, int) (string, string) {
		return "add", "nil"
	}, do: func(_ *rand.Rand, f, _ string, broken bool) (string, bool, bool) {
		if f == "read" {
			return "[" + strings.Join(rows, " ") + "]", false, false
		}
		at := len(rows)
		row := fmt.Sprintf("{:val %d, :sts %d}", at, 10*at)
		if broken = broken && at > 0; broken {
			at--
		}
		rows = slices.Insert(rows, at, row)
		return row, false, broken
	}}
}

// dirty has values that are read one by one, and all together at the end. A faulty one loses a value that it
// acknowledged.
func dirty() *object {
	var in []string
	return &object{about: "values, read one by one, and all of them at the end", last: "strong-read",
		ask: func(r *rand.Rand, n int) (string, string) {
			if r.IntN(2) == 0 {
				return "write", fmt.Sprint(n)
			}
			return "read", fmt.Sprint(r.IntN(n + 1))
		}, do: func(_ *rand.Rand, f, v string, broken bool) (string, bool, bool) {
			switch f {
			case "read":
				return v, !slices.Contains(in, v), false
			case "write":
				if !broken {
					in = append(in, v)
				}
				return v, false, broken
			}
			return "#{" + strings.Join(in, " ") + "}", false, false
		}}
}
