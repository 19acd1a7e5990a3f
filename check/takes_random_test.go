package check

import (
	"slices"
	"strings"
	"testing"

	"isovet/check/prepass"
	"isovet/check/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// takesAll are the checkers that decide all histories of registers at some levels whatever several writes explain and
// whoever may have committed.
var takesAll = []string{"cobra", "cobra-rounds", "viper", "vbox", "be",
	"polysi", "bc", "bc-full", "adya-si", "adya-si-full", "elle-register"}

// TestTakesAgainstBruteForce: histories in which values are written twice, outcomes unknown, keys deleted. Each checker
// that says of itself that it decides them does, as brute force does, with each solver in turn; Run certifies each
// answer.
func TestTakesAgainstBruteForce(t *testing.T) {
	n := histtest.Long[uint64](66, 40_000)
	verdicts := map[string]int{}
	doubled, open := 0, 0
	histtest.Each(t, n, func(seed uint64) *history.History {
		if seed%8 == 7 {
			return random.ManyUnknown(seed)
		}
		return random.Tiny(seed, random.Options{Txns: 6, Keys: 2, Duplicates: true, Unknown: seed%4 > 0,
			Deletes: seed%3 == 0, NoTimes: seed%5 == 1, Aborted: seed%7 == 0})
	}, func(t testing.TB, seed uint64, h *history.History) {
		switch v := prepass.Run(h); {
		case len(v.Anomalies) > 0:
		case len(v.Open) > 0:
			open++
		case len(v.Amb) > 0:
			doubled++
		}
		shared := called("bc").(sharing).Shared() // one graph for all levels
		for _, l := range slices.Concat(run.OrderLevels, []level.Level{level.RepeatableRead}) {
			want := answer(t, bruteForce{}, h, Options{Level: l})
			for _, name := range takesAll {
				c := must.Get(ByName(name))(t)
				if name == "bc" && seed%3 == 0 {
					c = shared
				}
				in := c.Info()
				if !in.Decides(l) || in.Hidden && seed%4 > 0 {
					continue
				}
				o := Options{Level: l}
				if len(in.Solvers) > 0 {
					o.Solver = in.Solvers[int(seed)%len(in.Solvers)]
				}
				for _, s := range in.Settings {
					if s.Name == SettingEncoding && seed%5 == 0 {
						o.Pipeline.Encoding = s.Values[int(seed/5)%len(s.Values)]
					}
				}
				got := answer(t, c, h, o)
				verdicts[name+" "+got.Verdict.String()]++
				incomplete := got.Verdict == evidence.Unknown && (strings.Contains(got.Reason, "the order of versions "+
					"is not known") || strings.Contains(got.Reason, "incomplete: Elle"))
				if incomplete {
					continue
				}
				if got.Verdict != want.Verdict && want.Verdict != evidence.Unknown {
					t.Errorf("seed %d, %s: %s:%s says %s (%s), brute force %s\n%s", seed, l, name, o.Solver,
						got.Verdict, got.Reason, want.Verdict, notation.Format(h))
				}
			}
		}
	})
	t.Log(verdicts, doubled, open)
	histtest.Mix(t, doubled < int(n)/10 || open < int(n)/30,
		"of %d histories %d have reads of several writers, %d an open outcome beside", n, doubled, open)
}

// TestDecidedByReplay: who needs one writer for each read says that replay decided.
func TestDecidedByReplay(t *testing.T) {
	h := must.Get(histtest.Read([]byte(`{"ops":[["w","x",1],["w","y",1]]}
{"ops":[["w","y",2],["w","x",1]]}
{"ops":[["r","x",1],["r","y",1]]}
{"ops":[["r","x",1],["r","y",2]]}
`)))(t)
	for _, name := range []string{"polysi", "bc", "bc-full", "adya-si", "adya-si-full", "elle-register"} {
		r := answer(t, called(name), h, Options{Level: level.SessionSnapshotIsolation})
		if r.Verdict != evidence.Holds || r.Checker != name || r.DecidedBy != "replay" ||
			!strings.Contains(r.Note, "which 2 writes could have installed") {
			t.Errorf("%s: %s by %s (%s)", name, r.Verdict, r.DecidedBy, r.Note)
		}
	}
}
