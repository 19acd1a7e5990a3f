package workloads

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"isovet/history/operations"
)

// message is a value that an operation sends or polls, with its key and offset.
type message struct {
	key, value string
	offset     int64 // negative: unknown
}

func (m message) id() [2]string { return [2]string{m.key, m.value} }

// traffic is all that an operation sends and polls, in order.
type traffic struct {
	sent, polled []message
	asked        []string // the keys that polls name, perhaps without a message
}

// topic is the log of a key as far as the history shows it: the values by offset, leaving out offsets nobody saw.
type topic struct {
	at    map[int64][]string
	first map[string]int // a value's first and last places
	last  map[string]int
	where map[string][]int64
	// end is the highest place that a successful poll reached, -1 if none did, and reader that poll.
	end, reader int
}

// kafkaRun is a history of clients that send to logs and poll them.
type kafkaRun struct {
	*judge
	moved   []traffic
	topics  map[string]*topic
	keys    []string
	writer  map[[2]string]int   // the operation that sends a value
	readers map[[2]string][]int // the ok operations that poll it
	pollers map[[2]string][]int // all operations that poll it
	allowed map[string]int      // kinds that Jepsen's checker counts and allows
	sub     bool
}

// kafka is Jepsen's kafka: values are sent to logs, one log per key, and polled in the order of their offsets.
func kafka(_ context.Context, j *judge) error {
	k := &kafkaRun{judge: j, moved: make([]traffic, len(j.h.Ops)), topics: map[string]*topic{},
		writer: map[[2]string]int{}, readers: map[[2]string][]int{}, pollers: map[[2]string][]int{},
		allowed: map[string]int{}, sub: j.o.Settings["sub-via"] == "subscribe"}
	if err := k.read(); err != nil || j.a.Reason != "" {
		return err
	}
	k.logs()
	k.messages()
	k.inside()
	k.between()
	k.cycles()
	sent, polled := 0, 0
	for i := range j.each("", operations.OK) {
		sent, polled = sent+len(k.moved[i].sent), polled+len(k.moved[i].polled)
	}
	j.stat("sent-count", sent)
	j.stat("polled-count", polled)
	k.lag()
	for _, kind := range slices.Sorted(maps.Keys(k.allowed)) {
		j.stat("allowed-"+kind, k.allowed[kind])
	}
	if sent+polled == 0 && len(j.a.Counts) == 0 {
		j.unknown("inconclusive: nothing is known to have been sent, and nothing was polled")
	}
	for i := range k.moved {
		for _, m := range k.moved[i].polled {
			if _, is := k.writer[m.id()]; !is && len(j.a.Counts) == 0 && j.a.Reason == "" { // as Jepsen's checker does
				j.unknown("line %d polls %s of key %s, which no operation sends", j.h.Ops[i].Line, m.value, m.key)
			}
		}
	}
	return nil
}

// read parses what each operation sends and polls.
func (k *kafkaRun) read() error {
	for i, op := range k.each("") {
		switch op.F {
		case "subscribe":
			k.sub = k.sub || k.o.Settings["sub-via"] == ""
			continue
		case "send", "poll", "txn":
		default:
			continue
		}
		value := cmp.Or(op.Out, op.In)
		micros, ok := operations.Items(value)
		for _, m := range micros {
			ok = ok && k.moved[i].add(m)
		}
		if !ok {
			return k.bad(op, "value", value, "micro-operations, as in [[:send 1 [0 5]] [:poll {1 [[0 5]]}]]")
		}
		for _, m := range k.moved[i].sent {
			if was, is := k.writer[m.id()]; is && was != i {
				k.unknown("lines %d and %d both send %s to key %s; expected each value of a key once",
					k.h.Ops[was].Line, op.Line, m.value, m.key)
			}
			k.writer[m.id()] = i
		}
		for _, m := range k.moved[i].polled {
			if r := k.pollers[m.id()]; len(r) == 0 || r[len(r)-1] != i {
				k.pollers[m.id()] = append(r, i)
				if op.Status == operations.OK {
					k.readers[m.id()] = append(k.readers[m.id()], i)
				}
			}
		}
	}
	return nil
}

// add adds a micro-operation; ok is false if it is malformed.
func (t *traffic) add(v any) (ok bool) {
	m, _ := operations.Items(v)
	switch {
	case len(m) == 3 && word(m[0]) == "send":
		x, ok := message{keyText(m[1]), operations.Text(m[2]), -1}, true
		if p, is := operations.Items(m[2]); is && len(p) == 2 {
			ok = x.pair(p)
		}
		t.sent = append(t.sent, x)
		return ok
	case len(m) == 1 && word(m[0]) == "poll":
		return true
	case len(m) != 2 || word(m[0]) != "poll":
		return false
	}
	logs, ok := m[1].(operations.Map)
	for _, l := range logs {
		t.asked = append(t.asked, keyText(l.Key))
		list, is := operations.Items(l.Value)
		for _, v := range list {
			x := message{keyText(l.Key), "", -1}
			if p, pair := operations.Items(v); !pair || len(p) != 2 || !x.pair(p) {
				return false
			}
			t.polled = append(t.polled, x)
		}
		ok = ok && (is || l.Value == nil)
	}
	return ok || m[1] == nil
}

// pair sets the offset, unless nil, and the value.
func (m *message) pair(p []any) (ok bool) {
	m.value = operations.Text(p[1])
	if p[0] != nil {
		m.offset, ok = p[0].(int64)
	}
	return ok || p[0] == nil
}

// keyText returns a key as text, since JSON turns the keys of objects into texts.
func keyText(v any) string { return fmt.Sprint(v) }

func word(v any) string {
	s, _ := v.(string)
	if len(s) > 1 && s[0] == ':' { // JSON
		return s[1:]
	}
	return s
}

// committed reports whether an operation's sends took place: it succeeded, or a successful poll has one of its values.
func (k *kafkaRun) committed(i int) bool {
	switch k.h.Ops[i].Status {
	case operations.OK:
		return true
	case operations.Failed:
		return false
	}
	return slices.ContainsFunc(k.moved[i].sent, func(m message) bool { return len(k.readers[m.id()]) > 0 })
}

// logs reconstructs each log from all polls and from the sends that took place.
func (k *kafkaRun) logs() {
	put := func(m message) {
		if m.offset < 0 {
			return
		}
		t := k.topics[m.key]
		if t == nil {
			t = &topic{map[int64][]string{}, map[string]int{}, map[string]int{}, map[string][]int64{}, -1, -1}
			k.topics[m.key], k.keys = t, append(k.keys, m.key)
		}
		if !slices.Contains(t.at[m.offset], m.value) {
			t.at[m.offset] = append(t.at[m.offset], m.value)
		}
	}
	for i := range k.moved {
		for _, m := range k.moved[i].polled {
			put(m)
		}
		if len(k.moved[i].sent) > 0 && k.committed(i) {
			for _, m := range k.moved[i].sent {
				put(m)
			}
		}
	}
	slices.Sort(k.keys)
	for _, key := range k.keys {
		t := k.topics[key]
		for place, offset := range slices.Sorted(maps.Keys(t.at)) {
			for _, v := range t.at[offset] {
				if _, is := t.first[v]; !is {
					t.first[v] = place
				}
				t.last[v] = place
				t.where[v] = append(t.where[v], offset)
				if r := k.readers[[2]string{key, v}]; len(r) > 0 && t.first[v] > t.end {
					t.end, t.reader = t.first[v], r[0]
				}
			}
		}
	}
}

// messages judges each value: polled although its send failed, lost, never polled, or at two offsets.
func (k *kafkaRun) messages() {
	for _, key := range k.keys {
		t := k.topics[key]
		for _, offset := range slices.Sorted(maps.Keys(t.at)) {
			if vs := t.at[offset]; len(vs) > 1 {
				k.found("inconsistent-offsets", k.with(key, vs...), "key %s has at offset %d the values %v", key,
					offset, vs)
			}
		}
		for _, v := range slices.Sorted(maps.Keys(t.where)) {
			if len(t.where[v]) > 1 {
				k.found("duplicate", k.with(key, v), "key %s has %s at the offsets %v", key, v, t.where[v])
			}
		}
	}
	for i := range k.moved {
		for _, m := range k.moved[i].sent {
			readers, op := k.readers[m.id()], &k.h.Ops[i]
			if slices.ContainsFunc(k.moved[i].polled, func(p message) bool { return p.id() == m.id() }) {
				k.found("precommitted-read", []int{i}, "an operation polls %s of key %s, which it sent itself",
					m.value, m.key)
			}
			switch {
			case op.Status == operations.Failed && len(readers) > 0:
				k.found("G1a", []int{i, readers[0]}, "a poll returns %s of key %s, whose send failed", m.value, m.key)
			case len(readers) > 0:
			case op.Status == operations.OK:
				k.found("unseen", []int{i}, "%s was sent to key %s, but no poll returns it", m.value, m.key)
			}
			if t := k.topics[m.key]; t != nil && len(readers) == 0 && k.committed(i) {
				if place, is := t.last[m.value]; is && place <= t.end {
					k.found("lost-write", []int{i, t.reader}, "no poll returns %s of key %s, but one returns a "+
						"later value", m.value, m.key)
				}
			}
		}
	}
}

// with returns the first operation that sends and the first that polls each of some values of a key.
func (k *kafkaRun) with(key string, values ...string) (ops []int) {
	for _, v := range values {
		id := [2]string{key, v}
		if w, is := k.writer[id]; is {
			ops = append(ops, w)
		}
		ops = append(ops, k.readers[id]...)
	}
	slices.Sort(ops)
	ops = slices.Compact(ops)
	return ops[:min(len(ops), 6)]
}
