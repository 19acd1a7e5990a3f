// Package forge changes certificates for tests, as somebody would who wants a lie to be believed.
package forge

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"

	"isovet/history"
	"isovet/internal/test/must"
	"isovet/level"
)

// exception is a line of a valid history's certificate of version 2 (package certify/large).
type exception struct {
	Txn    int64    `json:"txn"`
	Place  int64    `json:"place"`
	Begin  [3]int64 `json:"begin"`
	Commit [3]int64 `json:"commit"`
	Start  int64    `json:"start"`
	End    int64    `json:"end"`
}

// Large changes a certificate of version 2 of a history, and says how. other is one of another history, or nil.
func Large(r *rand.Rand, cert, other []byte, h *history.History) (what string, forged []byte) {
	f := &forgery{r: r, h: h}
	if !f.parse(cert) {
		return "unchanged", cert
	}
	holds := f.head["verdict"] == "valid"
	switch r.IntN(8) {
	case 0:
		f.head["level"] = f.label()
		return "another level", f.text()
	case 1:
		if other != nil {
			mine := f.head["history"]
			if g := (&forgery{r: r, h: h}); g.parse(other) {
				g.head["history"] = mine
				return "another history's certificate", g.text()
			}
		}
	case 2:
		return "other bytes", f.bytes(cert)
	}
	switch {
	case !holds && r.IntN(2) == 0:
		f.head["verdict"], f.head["rule"], f.lines = "valid", []string{"end", "place"}[r.IntN(2)], nil
		if f.stamped() {
			f.head["rule"] = "timestamps"
		}
		delete(f.head, "anomalies")
		if r.IntN(2) == 0 && !f.stamped() {
			f.move()
		}
		return "a no turned to yes", f.text()
	case !holds:
		f.anomaly()
		return "another anomaly", f.text()
	case r.IntN(4) == 0:
		f.head["verdict"] = "violation"
		delete(f.head, "rule")
		delete(f.head, "exceptions")
		f.lines = nil
		f.anomalies(other)
		return "a yes turned to no", f.text()
	case r.IntN(4) == 0:
		f.head["rule"] = []string{"end", "place", "timestamps"}[r.IntN(3)]
		return "another rule", f.text()
	case f.stamped():
		if f.head["read_only_at"] = "start"; r.IntN(2) == 0 {
			delete(f.head, "read_only_at")
		}
		return "reads at another time", f.text()
	case len(f.lines) > 0 && r.IntN(3) == 0:
		i := r.IntN(len(f.lines))
		f.lines = slices.Delete(f.lines, i, i+1)
		f.count()
		return "an exception dropped", f.text()
	case len(f.lines) > 1 && r.IntN(2) == 0:
		f.swap()
		return "the order moved: two swapped", f.text()
	}
	f.move()
	return "the order moved", f.text()
}

type forgery struct {
	r     *rand.Rand
	h     *history.History
	head  map[string]any
	lines [][]byte
}

func (f *forgery) parse(cert []byte) bool {
	lines := bytes.Split(bytes.TrimSpace(cert), []byte("\n"))
	f.lines = slices.Clone(lines[1:])
	d := json.NewDecoder(bytes.NewReader(lines[0]))
	d.UseNumber()
	return d.Decode(&f.head) == nil
}

func (f *forgery) text() []byte {
	b := must.Have(json.Marshal(f.head))
	return append(bytes.Join(append([][]byte{b}, f.lines...), []byte("\n")), '\n')
}

func (f *forgery) stamped() bool {
	name, _ := f.head["level"].(string)
	return len(name) > 3 && name[:3] == "ts:"
}

// label is some level, of the same kind of order mostly.
func (f *forgery) label() string {
	all := level.All()
	name := all[f.r.IntN(len(all))].String()
	if f.stamped() != (f.r.IntN(10) == 0) {
		return "ts:" + name
	}
	return name
}

func (f *forgery) count() { f.head["exceptions"] = len(f.lines) }

func (f *forgery) exception(i int) (e exception) {
	if err := json.Unmarshal(f.lines[i], &e); err != nil {
		return exception{}
	}
	return e
}

// put puts an exception in its place, or in place of one of the same transaction.
func (f *forgery) put(e exception) {
	b := must.Have(json.Marshal(e))
	i, is := slices.BinarySearchFunc(f.lines, e.Place, func(line []byte, p int64) int {
		var x exception
		json.Unmarshal(line, &x)
		return int(x.Place - p)
	})
	if is {
		f.lines[i] = b
	} else {
		f.lines = slices.Insert(f.lines, i, b)
	}
	f.count()
}

// swap has two exceptions stand where the other one does.
func (f *forgery) swap() {
	i := f.r.IntN(len(f.lines) - 1)
	a, b := f.exception(i), f.exception(i+1)
	a.Begin, b.Begin, a.Commit, b.Commit = b.Begin, a.Begin, b.Commit, a.Commit
	f.put(a)
	f.put(b)
}

// move has some transactions stand shortly before or behind others, their times being those that they have.
func (f *forgery) move() {
	if f.h.NumTxns() == 0 {
		return
	}
	for range 1 + f.r.IntN(3) {
		t, u := uint32(f.r.IntN(f.h.NumTxns())), uint32(f.r.IntN(f.h.NumTxns()))
		e := exception{Txn: f.h.Txns.ID[t], Place: int64(t)}
		e.Start, e.End = f.h.Window(t, 0)
		e.Commit = [3]int64{f.h.End(u), int64(u), 1 + int64(f.r.IntN(3))}
		if f.r.IntN(3) == 0 && u > 0 {
			e.Commit[1]--
		}
		if e.Begin = e.Commit; f.r.IntN(4) == 0 {
			e.Begin = [3]int64{f.h.Start(t), int64(t), 5}
		}
		f.put(e)
	}
}

// anomalies are those of another certificate, or some of two transactions.
func (f *forgery) anomalies(other []byte) {
	g := &forgery{r: f.r, h: f.h}
	if other != nil && g.parse(other) && g.head["verdict"] == "violation" {
		f.lines = g.lines
	}
	f.head["anomalies"] = len(f.lines)
}

// anomaly takes an anomaly away, or changes a number in one.
func (f *forgery) anomaly() {
	if len(f.lines) == 0 {
		return
	}
	i := f.r.IntN(len(f.lines))
	if f.r.IntN(3) == 0 {
		f.lines = slices.Delete(f.lines, i, i+1)
		f.head["anomalies"] = len(f.lines)
		return
	}
	line := slices.Clone(f.lines[i])
	var at []int
	for j, c := range line {
		if '0' <= c && c <= '9' {
			at = append(at, j)
		}
	}
	if len(at) > 0 {
		line[at[f.r.IntN(len(at))]] = byte('0' + f.r.IntN(10))
	}
	f.lines[i] = line
}

// bytes replaces, inserts or deletes some bytes.
func (f *forgery) bytes(cert []byte) []byte {
	b := slices.Clone(cert)
	const letters = `0123456789[]{},:"-enwrstop. ` + "\n"
	i := f.r.IntN(len(b))
	switch f.r.IntN(3) {
	case 0:
		b[i] = letters[f.r.IntN(len(letters))]
		return b
	case 1:
		return slices.Insert(b, i, letters[f.r.IntN(len(letters))])
	}
	return slices.Delete(b, i, min(i+1+f.r.IntN(3), len(b)))
}
