package histtest

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"
	"strconv"

	"isovet/internal/ddmin"
)

// doc is a history as JSON: its lines, numbers as they were written.
type doc struct {
	lines []map[string]any
}

func parse(text []byte) (*doc, error) {
	d := &doc{}
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		in := json.NewDecoder(bytes.NewReader(line))
		in.UseNumber()
		m := map[string]any{}
		if err := in.Decode(&m); err != nil {
			return nil, err
		}
		d.lines = append(d.lines, m)
	}
	return d, nil
}

// fields is the order in which a line's fields are written.
var fields = []string{"format", "version", "name", "db", "isolation", "workload", "note", "initial", "model",
	"clock_skew", "read_only_at_start", "turn",
	"id", "init", "session", "seq", "status", "start", "commit", "end", "start_ts", "commit_ts", "node", "ops"}

func (d *doc) text() []byte {
	var out []byte
	for _, m := range d.lines {
		var names []string
		for n := range m {
			names = append(names, n)
		}
		place := func(n string) int {
			if i := slices.Index(fields, n); i >= 0 {
				return i
			}
			return len(fields)
		}
		sort.Slice(names, func(i, j int) bool {
			if a, b := place(names[i]), place(names[j]); a != b {
				return a < b
			}
			return names[i] < names[j]
		})
		out = append(out, '{')
		for i, n := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(strconv.AppendQuote(out, n), ':')
			out = append(out, compact(m[n])...)
		}
		out = append(out, "}\n"...)
	}
	return out
}

// compact is a value as JSON that leaves < and > as they are.
func compact(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimSpace(b.Bytes())
}

// renumber makes the places of each session consecutive again.
func (d *doc) renumber() {
	by := map[string][]map[string]any{}
	for _, m := range d.lines {
		if m["seq"] != nil {
			s := string(compact(m["session"]))
			by[s] = append(by[s], m)
		}
	}
	place := func(m map[string]any) int64 {
		n, ok := m["seq"].(json.Number)
		if !ok {
			return 0
		}
		i, _ := n.Int64()
		return i
	}
	for _, ms := range by {
		slices.SortStableFunc(ms, func(a, b map[string]any) int { return int(place(a) - place(b)) })
		for i, m := range ms {
			m["seq"] = json.Number(strconv.Itoa(i))
		}
	}
}

// Shrink returns a history that fails as text does, and from which nothing can be taken without its no longer failing:
// neither a transaction, nor an operation, a field, an element or a row; and whose times and values are the smallest of
// their order. Cost: quadratic in the size of the text, times what fails costs.
func Shrink(text []byte, fails func(text []byte) bool) []byte {
	d, err := parse(text)
	if err != nil {
		return text
	}
	best := text
	if t := d.text(); fails(t) {
		best = t
	} else {
		return text
	}
	// try applies a change to a copy, and keeps it where that still fails.
	try := func(change func(d *doc) bool) bool {
		c, err := parse(best)
		if err != nil || !change(c) {
			return false
		}
		c.renumber()
		t := c.text()
		if bytes.Equal(t, best) || !fails(t) {
			return false
		}
		best = t
		return true
	}
	for again := true; again; {
		again = dropLines(&best, fails)
		for _, pass := range passes {
			for i := 0; ; { // the ith thing that the pass can change, until there is none
				more := false
				if try(func(d *doc) bool { more = pass(d, i); return more }) {
					again = true
					continue // another stands there now
				}
				if !more {
					break
				}
				i++
			}
		}
	}
	return best
}

// passes change the ith thing of a kind; false where there is no such.
var passes = []func(d *doc, i int) bool{dropEveryField, dropOp, dropField, dropPart, smallTimes, smallNumber, simpler}

// dropLines leaves out the lines that need not be there.
func dropLines(best *[]byte, fails func(text []byte) bool) bool {
	whole, err := parse(*best)
	if err != nil {
		return false
	}
	gone := make([]bool, len(whole.lines))
	return ddmin.Sweep(len(gone), func(i int) bool { return !gone[i] }, func(run []int) bool {
		c, err := parse(*best)
		if err != nil {
			return false
		}
		var lines []map[string]any
		at := 0
		for i := range gone {
			if gone[i] {
				continue
			}
			if !slices.Contains(run, i) {
				lines = append(lines, c.lines[at])
			}
			at++
		}
		c.lines = lines
		c.renumber()
		t := c.text()
		if !fails(t) {
			return false
		}
		*best = t
		for _, i := range run {
			gone[i] = true
		}
		return true
	}, func() bool { return false })
}

// dropEveryField drops a field from all lines.
func dropEveryField(d *doc, i int) bool {
	names := []string{"seq", "session", "id", "start", "end", "commit", "start_ts", "commit_ts", "status", "node"}
	if i >= len(names) {
		return false
	}
	for _, m := range d.lines {
		if delete(m, names[i]); i < 2 {
			delete(m, "seq")
		}
	}
	return true
}

func ops(m map[string]any) []any { o, _ := m["ops"].([]any); return o }

// eachOp calls f with every operation and what replaces it, until f says that it is done.
func (d *doc) eachOp(f func(op []any, put func(op []any, keep bool)) bool) {
	for _, m := range d.lines {
		list := ops(m)
		for i, o := range list {
			op, ok := o.([]any)
			put := func(op []any, keep bool) {
				if keep {
					list[i] = op
				} else {
					m["ops"] = slices.Delete(list, i, i+1)
				}
			}
			if ok && f(op, put) {
				return
			}
		}
	}
}

func dropOp(d *doc, i int) (found bool) {
	d.eachOp(func(op []any, put func([]any, bool)) bool {
		if found = i == 0; found {
			put(nil, false)
		}
		i--
		return found
	})
	return found
}

func dropField(d *doc, i int) bool {
	for _, m := range d.lines {
		for _, n := range fields {
			if _, ok := m[n]; !ok || n == "ops" || n == "format" {
				continue
			}
			if i == 0 {
				if delete(m, n); n == "session" {
					delete(m, "seq")
				}
				return true
			}
			i--
		}
	}
	return false
}

// dropPart drops an operation's times, an element of a list, or a row of a predicate operation.
func dropPart(d *doc, i int) (found bool) {
	d.eachOp(func(op []any, put func([]any, bool)) bool {
		if len(op) > 3 {
			if found = i == 0; found {
				put(op[:3], true)
				return true
			}
			i--
		}
		if len(op) < 3 {
			return false
		}
		if parts, ok := op[2].([]any); ok {
			if i < len(parts) {
				op[2] = slices.Delete(parts, i, i+1)
				put(op, true)
				found = true
				return true
			}
			i -= len(parts)
		}
		return false
	})
	return found
}

var clientTimes, stampTimes = []string{"start", "commit", "end"}, []string{"start_ts", "commit_ts"}

// smallTimes replaces times by their ranks: the clients', the database's, or both, from 0 on or in place of one rank.
func smallTimes(d *doc, i int) bool {
	groups := [][]string{append(slices.Clone(clientTimes), stampTimes...), clientTimes, stampTimes}
	if i >= len(groups) {
		return false
	}
	var all []int64
	each := func(f func(m map[string]any, name string, n int64)) {
		for _, m := range d.lines {
			for _, name := range groups[i] {
				if x, ok := m[name].(json.Number); ok {
					if n, err := x.Int64(); err == nil {
						f(m, name, n)
					}
				}
			}
		}
	}
	each(func(_ map[string]any, _ string, n int64) { all = append(all, n) })
	slices.Sort(all)
	all = slices.Compact(all)
	each(func(m map[string]any, name string, n int64) {
		at, _ := slices.BinarySearch(all, n)
		m[name] = json.Number(strconv.Itoa(at))
	})
	return true
}

// smallNumber replaces the numbers of the operations by their ranks, or one of them by a smaller one, wherever it
// stands.
func smallNumber(d *doc, i int) bool {
	var all []int64
	var walk func(v any, f func(json.Number) any) any
	walk = func(v any, f func(json.Number) any) any {
		switch v := v.(type) {
		case json.Number:
			return f(v)
		case []any:
			for j := range v {
				v[j] = walk(v[j], f)
			}
		case map[string]any:
			for n := range v {
				v[n] = walk(v[n], f)
			}
		}
		return v
	}
	every := func(f func(json.Number) any) {
		for _, m := range d.lines {
			if o, ok := m["ops"]; ok {
				m["ops"] = walk(o, f)
			}
		}
	}
	every(func(n json.Number) any {
		if x, err := n.Int64(); err == nil {
			all = append(all, x)
		}
		return n
	})
	slices.Sort(all)
	all = slices.Compact(all)
	if i == 0 {
		every(func(n json.Number) any {
			x, err := n.Int64()
			if err != nil {
				return n
			}
			at, _ := slices.BinarySearch(all, x)
			return json.Number(strconv.Itoa(at))
		})
		return true
	}
	if i--; i >= len(all) {
		return false
	}
	old, small := all[i], int64(0)
	for slices.Contains(all, small) && small < old {
		small++
	}
	if small == old {
		return true // the smallest there is: no change
	}
	every(func(n json.Number) any {
		if x, err := n.Int64(); err == nil && x == old {
			return json.Number(strconv.FormatInt(small, 10))
		}
		return n
	})
	return true
}

// simpler puts the second part of a condition in place of the whole, or turns a write by condition into a read.
func simpler(d *doc, i int) (found bool) {
	d.eachOp(func(op []any, put func([]any, bool)) bool {
		if len(op) < 3 {
			return false
		}
		p, ok := op[1].(map[string]any)
		if !ok {
			return false
		}
		var forms []any
		for _, n := range []string{"and", "or"} {
			if l, ok := p[n].([]any); ok {
				forms = append(forms, l...)
			}
		}
		if n, ok := p["not"]; ok {
			forms = append(forms, n)
		}
		if i < len(forms) {
			op[1] = forms[i]
			put(op, true)
			found = true
			return true
		}
		i -= len(forms)
		return false
	})
	return found
}
