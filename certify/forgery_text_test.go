package certify_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"isovet/certify"
	"isovet/evidence"
	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/level"
)

// texts changes certificates as JSON and as bytes.
func (f *forgery) texts(genuine []*evidence.Result) string {
	f.what = "a changed text"
	rng := f.rng
	var all [][]byte
	for _, r := range genuine {
		var b bytes.Buffer
		if err := evidence.WriteCertificate(&b, r); err != nil {
			return err.Error()
		}
		all = append(all, b.Bytes())
	}
	for _, text := range all {
		for i := range 12 {
			if f.cert = f.changedText(text, all); i%3 == 0 {
				f.cert = slices.Clone(text)
				for range 1 + rng.IntN(2) {
					f.cert = changedBytes(rng, f.cert)
				}
			}
			r, err := certify.Verify(bytes.NewReader(f.cert), f.s.h, f.options())
			if why := f.judge(f.s, r, err); why != "" {
				return why
			}
		}
	}
	return ""
}

// changedBytes replaces, inserts, deletes or repeats some bytes.
func changedBytes(rng *rand.Rand, text []byte) []byte {
	if len(text) == 0 {
		return text
	}
	from := bytes.IndexByte(text, '\n')
	if from < 0 || from == len(text)-1 || rng.IntN(3) == 0 {
		from = 0
	}
	i := from + rng.IntN(len(text)-from)
	const letters = `0123456789[]{},:"-enwrstop. ` + "\n"
	switch rng.IntN(4) {
	case 0:
		text[i] = letters[rng.IntN(len(letters))]
		return text
	case 1:
		return slices.Insert(text, i, letters[rng.IntN(len(letters))])
	case 2:
		return slices.Delete(text, i, min(i+1+rng.IntN(3), len(text)))
	}
	j := min(i+rng.IntN(40), len(text))
	return slices.Insert(text, i, slices.Clone(text[i:j])...)
}

// changedText changes parts of a certificate's JSON: a scalar for another, an element away, twice, or in another's
// place.
func (f *forgery) changedText(text []byte, all [][]byte) []byte {
	rng := f.rng
	lines := decode(text)
	others := decode(pick(rng, all))
	for range 1 + rng.IntN(3) {
		f.changeNode(lines, others)
	}
	if rng.IntN(3) > 0 && len(lines) > 0 { // the counts right
		if head, ok := lines[0].(map[string]any); ok {
			if _, ok := head["anomalies"]; ok {
				head["anomalies"] = len(lines) - 1
			} else if len(lines) > 1 && head["order"] != nil {
				if l, ok := lines[1].([]any); ok {
					head["order"] = len(l)
				}
			}
		}
	}
	var b bytes.Buffer
	for _, l := range lines {
		line := must.Have(json.Marshal(l))
		b.Write(append(line, '\n'))
	}
	return b.Bytes()
}

func decode(text []byte) (lines []any) {
	for line := range bytes.Lines(text) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		var x any
		if d.Decode(&x) == nil {
			lines = append(lines, x)
		}
	}
	return lines
}

// A place is where something stands in JSON.
type place struct {
	list []any
	dict map[string]any
	at   int
	name string
}

func (p place) get() any {
	if p.dict != nil {
		return p.dict[p.name]
	}
	return p.list[p.at]
}

func (p place) set(x any) {
	if p.dict != nil {
		p.dict[p.name] = x
	} else {
		p.list[p.at] = x
	}
}

func places(x any, name string, out *[]place) {
	switch x := x.(type) {
	case []any:
		for i := range x {
			*out = append(*out, place{list: x, at: i, name: name})
			places(x[i], name, out)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			if k == "history" || k == "format" || k == "version" || k == "text" || k == "checker" {
				continue
			}
			*out = append(*out, place{dict: x, name: k})
			places(x[k], k, out)
		}
	}
}

func (f *forgery) changeNode(lines, others []any) {
	rng := f.rng
	var ps, qs []place
	places(lines, "", &ps)
	places(others, "", &qs)
	p := pick(rng, ps)
	same := slice.Filter(append(ps, qs...), func(q place) bool { return q.name == p.name })
	l, isList := p.get().([]any)
	switch n := rng.IntN(8); {
	case n < 3 && len(same) > 0:
		p.set(copied(pick(rng, same).get()))
	case n == 3 && isList && len(l) > 0:
		i := rng.IntN(len(l))
		p.set(slices.Delete(slices.Clone(l), i, i+1))
	case n == 4 && isList && len(l) > 0:
		p.set(slices.Insert(slices.Clone(l), rng.IntN(len(l)), copied(pick(rng, l))))
	case n == 5 && isList && len(l) > 1:
		i, j := rng.IntN(len(l)), rng.IntN(len(l))
		l[i], l[j] = l[j], l[i]
	case n == 6 && p.dict != nil:
		delete(p.dict, p.name)
	default:
		h := f.s.h
		switch {
		case p.name == "dep":
			p.set(pick(rng, deps).String())
		case p.name == "kind":
			p.set(string(pick(rng, level.Anomalies())))
		case p.name == "level":
			p.set(pick(rng, []string{"", "ts:", "items:"}) + pick(rng, level.All()).String())
		case p.name == "verdict":
			p.set(pick(rng, []string{"valid", "violation", "unknown"}))
		case p.name == "value" || p.name == "key":
			p.set(json.RawMessage(h.ValueString(uint32(rng.IntN(max(h.NumVersions(), 1))))))
		case rng.IntN(10) == 0:
			p.set(pick(rng, []any{nil, true, "x", -1, int64(math.MaxInt64), uint64(math.MaxUint64), 1.5, []any{},
				map[string]any{}}))
		default:
			p.set(h.Txns.ID[rng.IntN(h.NumTxns())])
		}
	}
}

func copied(x any) any {
	switch x := x.(type) {
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = copied(x[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = copied(x[k])
		}
		return out
	}
	return x
}
