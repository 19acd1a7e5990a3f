package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"isovet/check/mechanism"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// suspectsOf is what a leopard tells of suspects and finds, in pieces; turn may replace it.
func suspectsOf(t *testing.T, j *leopard, lines [][]byte, rng *rand.Rand,
	turn func(j *leopard) *leopard) (told []Suspect, found []string) {
	t.Helper()
	take := func() {
		err := j.Findings(func(f *Finding) error {
			line, err := f.Line(1)
			found = append(found, string(line))
			return err
		})
		some, e := j.SuspectsTold(true)
		if err != nil || e != nil {
			t.Fatal(err, e)
		}
		told = append(told, some...)
	}
	j.Begin(func(n int64) ([]byte, error) { return bytes.TrimSpace(lines[n]), nil })
	for at := 0; at < len(lines); {
		to := min(at+1+rng.IntN(40), len(lines))
		must.OK(t, j.Take(NewBatch(int64(at), lines[at:to]), func(_ int64, err error) { t.Fatal(err) }))
		j.Clock(int64(to) * 1e6)
		take()
		at = to
		if turn != nil {
			j = turn(j)
		}
	}
	j.End()
	take()
	if left := j.Suspects(10); len(left) > 0 {
		t.Errorf("suspects at the end: %+v", left)
	}
	closeStore(t, j)
	return told, found
}

// TestSuspectsLeopard: each read of a value whose writer has not come is told once when it begins to wait, and once
// when it is confirmed, with a violation, or withdrawn, with a LATE line; of a database that is right all are withdrawn
// or were never told. Several goroutines tell the same, and so does one that begins again at a checkpoint.
func TestSuspectsLeopard(t *testing.T) {
	profile := profileOf(t, "postgresql:serializable")
	suspects, cleared, convicted := 0, 0, 0
	for seed := range randtest.Long[uint64](3, 400) {
		rng := rand.New(rand.NewPCG(seed, 41))
		lines := serial(rng, 400, seed%3 == 2)
		o := LeopardOptions{Profile: profile, Lateness: 300}
		o.Gate.Patience = 200 * time.Millisecond
		told, found := suspectsOf(t, leopardOf(t, o), lines, rand.New(rand.NewPCG(seed, 1)), nil)
		again := leopardOf(t, o)
		same, _ := suspectsOf(t, again, lines, rand.New(rand.NewPCG(seed, 1)), func(was *leopard) *leopard {
			if rng.IntN(4) > 0 {
				return was
			}
			cp := t.TempDir()
			must.OK(t, was.Checkpoint(cp))
			closeStore(t, was)
			is := leopardOf(t, o)
			is.Begin(was.line)
			must.OK(t, is.Restore(cp))
			return is
		})
		must.Equal(t, text(t, same), text(t, told), "seed %d: from checkpoints", seed)
		said := map[string]string{}
		for _, line := range found {
			var v struct {
				Axiom, Mechanism, Kind string
				Txn                    int64
				Txns                   []int64
				Key                    json.RawMessage
				Op                     *int
			}
			must.OK(t, json.Unmarshal([]byte(line), &v))
			switch {
			case v.Axiom == late && v.Op != nil:
				said[fmt.Sprint(v.Txn, " ", string(v.Key))] = withdrawn
			case v.Kind == mechanism.NotVisible:
				said[fmt.Sprint(v.Txns[0], " ", string(v.Key))] = confirmed
			}
			must.Equal(t, v.Axiom == "" && seed%3 < 2, false, "seed %d: %s", seed, line)
		}
		open := map[string]bool{}
		for _, s := range told {
			name := fmt.Sprint(s.Txn, " ", string(s.Key))
			switch {
			case s.Settled == "" && !open[name] && s.Other == nil:
				open[name] = true
				suspects++
				continue
			case !open[name] || said[name] != s.Settled:
				t.Fatalf("seed %d: %+v, out of turn; told as %q", seed, s, said[name])
			case s.Settled == withdrawn && s.Other != nil:
				cleared++
			default:
				convicted++
			}
			delete(open, name)
		}
		must.Equal(t, len(open) > 0, false, "seed %d: left open: %v", seed, open)
	}
	if suspects < 20 || cleared < 10 || convicted < 3 {
		t.Errorf("%d suspects, %d withdrawn, %d confirmed", suspects, cleared, convicted)
	}
	t.Logf("%d suspects, %d withdrawn, %d confirmed", suspects, cleared, convicted)
}

func text(t *testing.T, all []Suspect) string {
	t.Helper()
	return string(must.Get(json.MarshalIndent(all, "", " "))(t))
}

// serial makes transactions one after the other, some of which arrive late; wrong: some read what nobody wrote.
func serial(rng *rand.Rand, txns int, wrong bool) [][]byte {
	held := make([]int, 12)
	type sent struct {
		at   int
		line []byte
	}
	var all []sent
	for i := range txns {
		k := rng.Perm(len(held))[:3]
		read := held[k[0]]
		if wrong && rng.IntN(60) == 0 {
			read = 1_000_000 + i
		}
		b := fmt.Appendf(nil, `{"id":%d,"session":%d,"start":%d,"commit":%d,"end":%d,"ops":[["r",%d,%d,%d,%d],`, i, i%8,
			100*i, 100*i+60, 100*i+70, k[0], read, 100*i+5, 100*i+10)
		b = fmt.Appendf(b, `["r",%d,%d,%d,%d],["w",%d,%d,%d,%d]]}`+"\n", k[1], held[k[1]], 100*i+12, 100*i+20, k[2], i+1,
			100*i+30, 100*i+40)
		held[k[2]] = i + 1
		at := i
		if rng.IntN(12) == 0 {
			at += rng.IntN(60)
		}
		all = append(all, sent{at, b})
	}
	slices.SortStableFunc(all, func(a, b sent) int { return a.at - b.at })
	lines := [][]byte{[]byte(`{"format":"isovet-history","version":1,"initial":0}` + "\n")}
	for _, s := range all {
		lines = append(lines, s.line)
	}
	return lines
}
