package check

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/internal/test/cases"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

// tinyList makes a random history with lists: of one kind or another by the seed.
func tinyList(seed uint64) *history.History {
	switch seed % 4 {
	case 0:
		return oracletest.Random(seed, oracletest.Shape{Txns: 5, Keys: 3, Sessions: 4, Ops: 4, Lists: true, Init: true,
			Aborted: true, Unknown: seed%8 == 4})
	case 1:
		return random.Tiny(seed, random.Options{Txns: 6, Keys: 3, Lists: true})
	case 2:
		return random.Tiny(seed, random.Options{Lists: true, Aborted: true, Unknown: true})
	}
	return random.Tiny(seed, random.Options{Txns: 6, Keys: 2, Sessions: 5, Ops: 3, Lists: true, NoTimes: seed%3 == 0})
}

// TestListsAgainstBruteForce holds every checker against the oracle on tiny histories with lists; Run certifies each
// answer on the way.
func TestListsAgainstBruteForce(t *testing.T) {
	n := histtest.Long[uint64](220, 40_000)
	verdicts := map[string]int{}
	histtest.Each(t, n, func(seed uint64) *history.History { return tinyList(seed) }, func(t testing.TB, seed uint64,
		h *history.History) {
		for _, l := range run.OrderLevels {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			for _, c := range All() {
				in := c.Info()
				if in.Hidden || in.Timestamps || !slices.Contains(in.Levels, l) || in.Name == "elle" && !h.HasLists() {
					continue
				}
				if in.Name != "elle" && in.Name != "replay" && seed%4 != 3 {
					continue
				}
				got, err := Run(t.Context(), c, h, Options{Level: l})
				if err != nil {
					text := ""
					if got != nil {
						for _, a := range got.Anomalies {
							text += a.Text
						}
					}
					t.Fatalf("seed %d, %s, %s: %v\n%s\n%s", seed, l, in.Name, err, notation.Format(h), text)
				}
				switch {
				case got.Verdict == evidence.Unknown && in.Name == "elle-register" && strings.HasPrefix(got.Reason,
					"incomplete"):
				case got.Verdict == evidence.Unknown && strings.HasPrefix(got.Reason, "list elements must be"),
					orderOpen(in, got):
				case got.Verdict != want.Verdict:
					t.Fatalf("seed %d, %s: %s says %s (%s), brute force %s\n%s", seed, l, in.Name, got.Verdict,
						got.Reason, want.Verdict, notation.Format(h))
				}
				verdicts[in.Name+" "+got.Verdict.String()]++
				if in.Name == "elle" && got.Verdict == evidence.Violated {
					verdicts[string(got.Anomalies[0].Kind)]++
				}
			}
		}
	})
	t.Log(verdicts)
	for _, c := range []string{"elle", "replay"} {
		// of 6 × n
		histtest.Mix(t, min(verdicts[c+" valid"], verdicts[c+" violation"]) < int(n) ||
			verdicts[c+" unknown"] > int(n)/2, "the mix is lopsided: %v", verdicts)
	}
}

// doubledList makes a tiny history of lists whose elements are few: a run, one transaction after the other, some on an
// old state, then perhaps one list read changed. One in three has registers beside the lists; initial, aborted and
// unknown ones by the seed.
func doubledList(seed uint64) *history.History {
	rng := rand.New(rand.NewPCG(seed, 0xd0b1ed))
	b := history.NewBuilder()
	b.Initial = history.IntValue(0)
	keys := 1 + rng.IntN(2)
	registers := rng.IntN(3) == 0
	vals := 1 + rng.IntN(3)
	type state struct {
		lists [2][]int64
		reg   int64
	}
	cur := state{}
	var old []state
	if rng.IntN(5) == 0 {
		for range 1 + rng.IntN(2) {
			k, v := rng.IntN(keys), int64(rng.IntN(vals))
			b.Append(b.Key(history.IntValue(int64(k))), history.IntValue(v))
			cur.lists[k] = append(cur.lists[k], v)
		}
		head := history.NewTxnHead()
		head.Init = true
		b.EndTxn(head)
	}
	clone := func(s state) state {
		for k := range s.lists {
			s.lists[k] = append([]int64(nil), s.lists[k]...)
		}
		return s
	}
	n := 2 + rng.IntN(4)
	fault := rng.IntN(2*n + 2)
	read := func(l []int64) []history.Value {
		return slice.Map(l, history.IntValue)
	}
	sessions := 1 + rng.IntN(3)
	for t := range n {
		old = append(old, clone(cur))
		s := clone(cur)
		stale := rng.IntN(4) == 0
		if stale {
			s = clone(old[rng.IntN(len(old))])
		}
		type ap struct {
			k int
			v int64
		}
		var aps []ap
		wrote := int64(-1)
		for range 1 + rng.IntN(3) {
			k := rng.IntN(keys)
			switch x := rng.IntN(5); {
			case registers && x == 0:
				if rng.IntN(2) == 0 {
					b.Read(b.Key(history.IntValue(9)), history.IntValue(s.reg))
				} else {
					s.reg = int64(10 + t)
					wrote = s.reg
					b.Write(b.Key(history.IntValue(9)), history.IntValue(s.reg))
				}
			case x < 3:
				v := int64(rng.IntN(vals))
				b.Append(b.Key(history.IntValue(int64(k))), history.IntValue(v))
				s.lists[k] = append(s.lists[k], v)
				aps = append(aps, ap{k, v})
			default:
				l := read(s.lists[k])
				if t == fault && len(l) > 0 {
					switch rng.IntN(3) {
					case 0:
						l = l[:len(l)-1]
					case 1:
						l[rng.IntN(len(l))] = history.IntValue(int64(rng.IntN(vals)))
					default:
						l = append(l, history.IntValue(int64(rng.IntN(vals))))
					}
				}
				b.ReadList(b.Key(history.IntValue(int64(k))), l)
			}
		}
		head := history.NewTxnHead()
		at := int64(10 * t)
		head.Session, head.HasSess = int64(rng.IntN(sessions)), true
		head.Start, head.End = at-int64(rng.IntN(25)), at+int64(rng.IntN(25))
		head.Status = history.Committed
		gone := false
		switch x := rng.IntN(12); {
		case x == 0:
			head.Status = history.Aborted
			gone = rng.IntN(4) > 0
		case x == 1 && seed%2 == 0:
			head.Status, head.End = history.Unknown, history.NoTime
			gone = rng.IntN(2) == 0
		}
		b.EndTxn(head)
		if !gone {
			for _, a := range aps {
				cur.lists[a.k] = append(cur.lists[a.k], a.v)
			}
			if wrote >= 0 {
				cur.reg = wrote
			}
		}
	}
	return must.Have(b.Build())
}

// TestDoubledElementsAgainstBruteForce holds elle and replay against the oracle on tiny histories with list elements
// that were appended more than once. An answer of "unknown" is allowed where outcomes are unknown, and nowhere else.
func TestDoubledElementsAgainstBruteForce(t *testing.T) {
	n := histtest.Long[uint64](800, 40_000)
	verdicts := map[string]int{}
	histtest.Each(t, n, func(seed uint64) *history.History { return doubledList(seed) }, func(t testing.TB, seed uint64,
		h *history.History) {
		if !h.HasLists() {
			return
		}
		unknown := false
		for _, s := range h.Txns.Status {
			unknown = unknown || s == history.Unknown
		}
		for _, l := range run.OrderLevels {
			want := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			for _, c := range []Checker{elle{}, run.Replay{}, run.Vbox{}} {
				name := c.Info().Name
				if name == "vbox" && !slices.Contains(c.Info().Levels, l) {
					continue
				}
				got := answer(t, c, h, Options{Level: l})
				switch {
				case got.Verdict == evidence.Unknown && unknown && strings.Contains(got.Reason, "is unknown"):
					verdicts[name+" open"]++
					continue
				case got.Verdict == evidence.Unknown && unknown && want.Verdict == evidence.Violated:
					verdicts[name+" unproven"]++
					continue
				case got.Verdict != want.Verdict:
					t.Errorf("seed %d, %s: %s says %s (%s), brute force %s\n%s", seed, l, name, got.Verdict, got.Reason,
						want.Verdict, notation.Format(h))
					if verdicts["bad"]++; verdicts["bad"] > 6 {
						t.FailNow()
					}
				}
				verdicts[name+" "+got.Verdict.String()]++
				if got.Verdict == evidence.Violated && name == "elle" {
					kind := got.Anomalies[0].Kind
					verdicts[string(kind)]++
					if kind != kind.Base() {
						verdicts[string(kind.Base())+", or with an order"]++
					}
				}
			}
		}
	})
	t.Log(verdicts)
	for _, c := range []string{"elle", "replay"} {
		// of 6 × n
		histtest.Mix(t, min(verdicts[c+" valid"]/4, verdicts[c+" violation"]) < int(n) ||
			verdicts[c+" open"] > int(n)/3, "the mix is lopsided: %v", verdicts)
	}
	for _, kind := range []string{"G0", "G1b", "incompatible-order", "no-version-order-session", "G-single"} {
		histtest.Mix(t, verdicts[kind]+verdicts[kind+", or with an order"] == 0, "no %s among them", kind)
	}
}

// TestCases: three ways to be told which append a place is, and the bound on their number.
func TestCases(t *testing.T) {
	for _, c := range []struct {
		h    string
		want evidence.Verdict
		kind string
	}{
		{"s1: a(x,1) | s2: a(x,1) | s3: r(x,[1])", evidence.Holds, ""},
		{"s1: a(x,1) a(x,1) | s2: r(x,[1])", evidence.Violated, "G1b"},
		{"s1: a(x,1) a(x,2) | s2: a(x,1) | s3: r(x,[1]) | s4: r(x,[1,2])", evidence.Violated, "incompatible-order"},
		{"s1: a(x,1) a(y,1) | s2: a(x,1) a(y,2) | s3: r(x,[1]) r(y,[]) | s4: r(x,[]) r(y,[1,2])", evidence.Violated,
			""},
		{"s1: a(x,1) a(y,1) | s2: a(x,1) a(y,2) | s3: r(x,[1]) r(y,[2]) | s4: r(x,[]) r(y,[])", evidence.Holds, ""},
	} {
		r, err := Run(t.Context(), elle{}, notation.MustParse(c.h), Options{Level: level.Serializable})
		if err != nil || r.Verdict != c.want || c.kind != "" && string(r.Anomalies[0].Kind) != c.kind {
			t.Errorf("%s: %s %s %v, %v; want %s %s", c.h, r.Verdict, r.Reason, r.Anomalies, err, c.want, c.kind)
		}
	}
	// Eight equal elements have 40,320 ways, and what is wrong has nothing to do with them.
	text := "s1: r(z,[]) a(y,1) | s2: r(y,[]) a(z,1)"
	list := ""
	for range 8 {
		text += " | _: a(x,1)"
		list += ",1"
	}
	agree(t, answer(t, elle{}, notation.MustParse(text+" | _: r(x,["+list[1:]+"])"),
		Options{Level: level.Serializable}), evidence.Violated)
}

var itemOp = regexp.MustCompile(`([rw])\((\w+),(\w+)\)`)

// asLists tells an anomaly of the catalogue with lists: a write appends to what its transaction read or wrote of the
// key before, a read returns the list that its value ends. ok is false where a transaction writes a key without reading
// it.
func asLists(text string) (string, bool) {
	lists := map[string]string{} // key=value → list, without brackets
	ok := true
	for _, line := range strings.Split(text, "\n") {
		last := map[string]string{}
		for _, m := range itemOp.FindAllStringSubmatch(line, -1) {
			if m[1] == "w" {
				before, read := last[m[2]]
				ok = ok && read
				lists[m[2]+"="+m[3]] = strings.TrimPrefix(lists[m[2]+"="+before]+","+m[3], ",")
			}
			last[m[2]] = m[3]
		}
	}
	out := itemOp.ReplaceAllStringFunc(text, func(s string) string {
		m := itemOp.FindStringSubmatch(s)
		if m[1] == "w" {
			return fmt.Sprintf("a(%s,%s)", m[2], m[3])
		}
		l := lists[m[2]+"="+m[3]]
		if l == "" && m[3] != "0" {
			l = m[3]
		}
		return fmt.Sprintf("r(%s,[%s])", m[2], l)
	})
	return strings.NewReplacer("aborted", "ABORTED", "unknown", "UNKNOWN").Replace(out), ok
}

// TestListNames: what is found in lists, by name.
func TestListNames(t *testing.T) {
	for _, c := range cases.Read(t, "testdata/list-names.tsv") {
		name, l, want, h := c[0], must.Get(level.Parse(c[1]))(t), c[2], notation.MustParse(c[3])
		for _, k := range []Checker{elle{}, run.Replay{}} {
			r, err := Run(t.Context(), k, h, Options{Level: l})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			got := ""
			for i, a := range r.Anomalies {
				if i > 0 {
					got += "; "
				}
				got += string(a.Kind)
				for _, x := range a.Txns {
					got += fmt.Sprintf(" %d", h.Txns.ID[x])
				}
			}
			if got != want && (k.Info().Name == "elle" || (got == "") != (want == "")) ||
				r.Verdict == evidence.Unknown {
				t.Errorf("%s: %s: %s %q (%s); want %q", k.Info().Name, name, r.Verdict, got, r.Reason, want)
			}
		}
	}
}

// TestListsMedium compares elle, replay and vbox on runs of the store, at several isolations, with appends that nobody
// reads.
func TestListsMedium(t *testing.T) {
	verdicts := map[string]int{}
	histtest.Each(t, histtest.Long[uint64](33, 600), func(seed uint64) *history.History {
		return random.Medium(seed, random.Options{Txns: 60, Lists: true, Ops: 4, Unknown: seed%3 == 0,
			Aborted: seed%4 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range run.OrderLevels {
			var first *evidence.Result
			for _, c := range []Checker{elle{}, run.Replay{}, run.Vbox{}} {
				if !slices.Contains(c.Info().Levels, l) {
					continue
				}
				r := answer(t, c, h, Options{Level: l})
				if first == nil {
					first = r
					verdicts[r.Verdict.String()]++
					if r.Verdict == evidence.Violated {
						verdicts[string(r.Anomalies[0].Kind)]++
					}
				} else if r.Verdict != first.Verdict {
					t.Fatalf("seed %d, %s: elle says %s, %s %s (%s)\n%s", seed, l, first.Verdict, c.Info().Name,
						r.Verdict, r.Reason, notation.Format(h))
				}
			}
		}
	})
	histtest.Mix(t, min(verdicts["valid"], verdicts["violation"]) < 60 || verdicts["unknown"] > 0,
		"the mix is lopsided: %v", verdicts)
}
