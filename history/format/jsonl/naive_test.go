package jsonl

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/level"
)

// readNaive is the plain twin of Read: it takes each line apart with encoding/json. It takes valid input only and
// panics on anything else.
func readNaive(data []byte) *history.History {
	b := history.NewBuilder()
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var obj map[string]any
		if err := d.Decode(&obj); err != nil {
			panic(err)
		}
		if obj["format"] != nil {
			text := func(f string) string { s, _ := obj[f].(string); return s }
			b.Meta = history.Meta{Name: text("name"), DB: text("db"), Isolation: text("isolation"),
				Workload: text("workload"), Note: text("note"), Lists: text("model") == "list"}
			if v, ok := obj["initial"]; ok {
				b.Initial = naiveValue(b, v)
			}
			continue
		}
		h := history.NewTxnHead()
		h.Line = uint32(n + 1)
		num := func(f string, to *int64) bool {
			if v, ok := obj[f]; ok {
				*to = naiveInt(v)
				return true
			}
			return false
		}
		h.HasID = num("id", &h.ID)
		h.HasSess = num("session", &h.Session)
		h.HasSeq = num("seq", &h.Seq)
		num("start", &h.Start)
		num("end", &h.End)
		num("commit", &h.Commit)
		num("start_ts", &h.StartTS)
		num("commit_ts", &h.CommitTS)
		h.Init, _ = obj["init"].(bool)
		h.Status = map[any]history.Status{nil: 0, "committed": 0, "aborted": history.Aborted,
			"unknown": history.Unknown}[obj["status"]]
		if s, ok := obj["node"].(string); ok {
			h.Node = b.Text([]byte(s))
		}
		if s, ok := obj["name"].(string); ok {
			h.Name = b.Text([]byte(s))
		}
		if s, ok := obj["level"].(string); ok {
			l := must.Have(level.Parse(s))
			h.Level = b.Text([]byte(l.String()))
		}
		for _, x := range obj["ops"].([]any) {
			naiveOp(b, x.([]any))
		}
		b.EndTxn(h)
	}
	return must.Have(b.Build())
}

func naiveOp(b *history.Builder, o []any) {
	kind := o[0].(string)
	switch kind {
	case "pr", "pw":
		var rows []history.PredRow
		for _, x := range o[2].([]any) {
			x := x.([]any)
			r := history.PredRow{Key: b.Key(naiveValue(b, x[0]))}
			switch {
			case kind == "pr":
				r.Old = naiveValue(b, x[1])
			case len(x) == 2:
				r.OldUnknown, r.New = true, naiveValue(b, x[1])
			default:
				r.Old, r.New = naiveValue(b, x[1]), naiveValue(b, x[2])
			}
			rows = append(rows, r)
		}
		k := history.PredRead
		if kind == "pw" {
			k = history.PredWrite
		}
		b.Predicate(k, naiveJSON(o[1]), rows)
	default:
		key := b.Key(naiveValue(b, o[1]))
		if list, ok := o[2].([]any); ok {
			elems := slice.Map(list, func(e any) history.Value { return naiveValue(b, e) })
			b.ReadList(key, elems)
			break
		}
		v := naiveValue(b, o[2])
		switch kind {
		case "r":
			b.Read(key, v)
		case "w":
			b.Write(key, v)
		case "a":
			b.Append(key, v)
		}
	}
	if len(o) == 5 {
		t := [2]int64{history.NoTime, history.NoTime}
		for i := range t {
			if o[3+i] != nil {
				t[i] = naiveInt(o[3+i])
			}
		}
		b.OpTimes(t[0], t[1])
	}
}

func naiveInt(x any) int64 {
	return must.Have(strconv.ParseInt(string(x.(json.Number)), 10, 64))
}

func naiveValue(b *history.Builder, x any) history.Value {
	switch x := x.(type) {
	case nil:
		return history.Value{}
	case bool:
		return history.BoolValue(x)
	case string:
		return b.StringValue([]byte(x))
	case json.Number:
		return history.IntValue(naiveInt(x))
	case map[string]any:
		return b.RowValue(naiveJSON(x))
	}
	panic(x)
}

// naiveJSON writes x with sorted members, no white space and no more escapes than needed. Random predicates have their
// members in order, as the reader keeps their order.
func naiveJSON(x any) []byte {
	switch x := x.(type) {
	case string:
		return history.AppendJSONString(nil, x)
	case json.Number:
		return strconv.AppendInt(nil, naiveInt(x), 10)
	case []any:
		out := []byte{'['}
		for i, e := range x {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, naiveJSON(e)...)
		}
		return append(out, ']')
	case map[string]any:
		var names []string
		for n := range x {
			names = append(names, n)
		}
		slices.Sort(names)
		out := []byte{'{'}
		for i, n := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(history.AppendJSONString(out, n), ':'), naiveJSON(x[n])...)
		}
		return append(out, '}')
	}
	return must.Have(json.Marshal(x))
}
