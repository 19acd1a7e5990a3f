package watch

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// lateLists is a stream of transactions on lists, of which some come later than their commits have them; right at the
// level, but for reads that miss an element, if it is to be wrong. appends says who appends to what.
func lateLists(rng *rand.Rand, l level.Level, wrong bool) (lines [][]byte, appends map[int64][]string) {
	type txn struct{ id, start, commit, at int64 }
	type element struct {
		commit int64
		name   string
	}
	var all []txn
	delay := 1 + rng.IntN(20)
	for i := range int64(40 + rng.IntN(150)) {
		start := 100*i + 100
		x := txn{i, start, start + 50 + 100*rng.Int64N(4) + i%8, 0} // commits never tie
		if x.at = x.commit; rng.IntN(6) == 0 {
			x.at += 100 * rng.Int64N(int64(delay))
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b txn) int { return int(a.commit - b.commit) })
	lists := make([][]element, 1+rng.IntN(6))
	text := map[int64][]byte{}
	appends = map[int64][]string{}
	for _, x := range all {
		sees := x.start
		if l.Serial() {
			sees = x.commit
		}
		var ops []string
		own := map[int][]string{}
		for range 1 + rng.IntN(3) {
			k := rng.IntN(len(lists))
			had := lists[k]
			if rng.IntN(2) == 0 {
				var names []string
				for _, e := range had {
					if e.commit <= sees {
						names = append(names, e.name)
					}
				}
				names = append(names, own[k]...)
				if n := len(names); wrong && n > 0 && rng.IntN(20) == 0 {
					at := max(0, n-1-rng.IntN(3))
					names = slices.Delete(names, at, at+1)
				}
				ops = append(ops, fmt.Sprintf(`["r","k%d",[%s]]`, k, strings.Join(names, ",")))
			} else if l.Serial() || len(had) == 0 || had[len(had)-1].commit <= x.start {
				e := fmt.Sprint(1 + 4*x.id + int64(len(ops)))
				ops = append(ops, fmt.Sprintf(`["a","k%d",%s]`, k, e))
				own[k] = append(own[k], e)
			}
		}
		for k, es := range own {
			appends[x.id] = append(appends[x.id], fmt.Sprintf("%q", fmt.Sprint("k", k)))
			for _, e := range es {
				lists[k] = append(lists[k], element{x.commit, e})
			}
		}
		text[x.id] = fmt.Appendf(nil, `{"id":%d,"start_ts":%d,"commit_ts":%d,"ops":[%s]}`+"\n", x.id, x.start, x.commit,
			strings.Join(ops, ","))
	}
	slices.SortStableFunc(all, func(a, b txn) int { return int(a.at - b.at) })
	for _, x := range all {
		lines = append(lines, text[x.id])
	}
	return lines, appends
}

// TestListsLate: of a right stream of lists whose transactions come later than they may, and whose versions are
// forgotten early, nothing is reported but that some came late. Of a wrong one everything is found that the whole
// history shows, and no more, but for reads of late transactions, and of lists that late transactions appended to.
func TestListsLate(t *testing.T) {
	lates, inTime, found, spared := 0, 0, 0, 0
	levels := timestamp.Levels()
	for seed := range uint64(histtest.Long(90, 20_000)) {
		rng := rand.New(rand.NewPCG(seed, 23))
		o := timestamp.Options{Level: levels[rng.IntN(len(levels))]}
		wrong := seed%3 == 2
		lines, appends := lateLists(rng, o.Level, wrong)
		attach := AttachNever
		if !wrong && rng.IntN(2) == 0 {
			attach = AttachAlways
		}
		j := aionWith(t, AionOptions{Options: o, Lateness: rng.Int64N(600), Attach: attach,
			Gate: GateOptions{Once: true, Patience: time.Hour}})
		j.Clock(1_750_000_000_000_000_000) // as the log has it before the first line
		var got []string
		late, lists := map[string]bool{}, map[string]bool{}
		for _, line := range told(t, j, lines, 1+rng.IntN(8), rng, nil) {
			var v Violation
			must.OK(t, json.Unmarshal([]byte(line), &v), "seed %d: %s", seed, line)
			switch {
			case v.Axiom != "LATE":
				got = append(got, keyOf(v))
			case v.Op == nil:
				lates++
				late[fmt.Sprint(v.Txn)] = true
				for _, key := range appends[v.Txn] {
					lists[key] = true
				}
			}
			if v.Axiom != "LATE" && !wrong {
				t.Fatalf("seed %d: %s\n%s", seed, line, slices.Concat(lines...))
			}
		}
		if !wrong {
			continue
		}
		h := must.Get(histtest.Read(slices.Concat(lines...)))(t)
		r := must.Get(timestamp.Chronos(t.Context(), h, o))(t)
		apart := func(line string) bool { // EXT transaction other key place
			f := strings.Fields(line)
			return f[0] == "EXT" && (late[f[1]] || lists[f[3]])
		}
		want := ofReport(h, r)
		n := len(want)
		want, got = slices.DeleteFunc(want, apart), slices.DeleteFunc(got, apart)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: told\n%q\nexpected\n%q\n%s", seed, got, want, slices.Concat(lines...))
		}
		found += len(want)
		spared += n - len(want)
		if len(late) == 0 {
			inTime += n
		}
	}
	if lates < 600 || inTime < 10 || found < inTime+50 {
		t.Errorf("%d late; %d violations found, %d of them of streams that come in time", lates, found, inTime)
	}
	t.Logf("%d late; %d violations found, %d of them of streams that come in time, %d not looked at", lates, found,
		inTime, spared)
}
