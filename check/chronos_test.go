package check

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"isovet/certify"
	"isovet/check/run"
	"isovet/check/timestamp"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestStampedCertified: every answer of a checker that trusts timestamps is certified; valid is valid for brute force
// too (errata C8: accept implies strong session snapshot isolation).
func TestStampedCertified(t *testing.T) {
	all := []random.StampedOptions{
		{Ties: true},
		{Ties: true, Serial: true, Txns: 4},
		{Ties: true, Deletes: true, Duplicates: true, Aborted: true, Unknown: true},
		{Ties: true, Lists: true, Aborted: true, Unknown: true},
		{Predicates: true, Deletes: true, Aborted: true},
		{Ties: true, Predicates: true, Lists: true, Deletes: true, Aborted: true, Unknown: true},
	}
	verdicts := map[evidence.Verdict]int{}
	black := map[string]int{}
	for i, so := range all {
		histtest.Each(t, histtest.Long[uint64](40, 400), func(seed uint64) *history.History {
			return random.Stamped(seed+uint64(i)<<32, so)
		}, func(t testing.TB, seed uint64, h *history.History) {
			for _, l := range timestamp.Levels() {
				for _, atStart := range []bool{false, true} {
					if atStart && !l.Serial() {
						continue
					}
					for _, c := range All() {
						if !c.Info().Timestamps || !slices.Contains(c.Info().Levels, l) {
							continue
						}
						r := answer(t, c, h, Options{Level: l, ReadOnlyAtStart: atStart})
						if r.Verdict == evidence.Unknown && c.Info().Name == "chronos" && !(h.HasLists() &&
							h.HasPredicates()) {
							t.Fatalf("options %d, seed %d: unknown: %s", i, seed, r.Reason)
						}
						verdicts[r.Verdict]++
						if i >= 3 || c.Info().Name != "chronos" || !so.Serial && l.Serial() {
							continue
						}
						b := answer(t, bruteForce{}, h, Options{Level: l})
						black[fmt.Sprint(r.Verdict, " by timestamps, ", b.Verdict)]++
						if r.Verdict == evidence.Holds && b.Verdict == evidence.Violated {
							t.Fatalf("options %d, seed %d: %s holds by timestamps and not without", i, seed, l)
						}
					}
				}
			}
		})
	}
	histtest.Mix(t, verdicts[evidence.Holds] < 120 || verdicts[evidence.Violated] < 120 ||
		black["violation by timestamps, valid"] == 0, "one-sided: %v, %v", verdicts, black)
}

// TestStampedClaims: what does not follow from history and timestamps is refused, one claim changed at a time.
func TestStampedClaims(t *testing.T) {
	refused, tried := map[string]int{}, map[string]int{}
	histtest.Each(t, uint64(1500), func(seed uint64) *history.History {
		return random.Stamped(seed, random.StampedOptions{Ties: true, Lists: seed%2 == 0, Predicates: seed%3 == 0,
			Unknown: true, Aborted: true})
	}, func(t testing.TB, seed uint64, h *history.History) {
		for _, l := range []level.Level{level.SessionSnapshotIsolation, level.SessionSerializable} {
			r := answer(t, chronos, h, Options{Level: l})
			try := func(what string, change func(r *evidence.Result)) {
				x := *r
				x.Order = slices.Clone(r.Order)
				x.Anomalies = slices.Clone(r.Anomalies)
				change(&x)
				tried[what]++
				if certify.Check(&x, certify.Options{}) != nil {
					refused[what]++
				}
			}
			if r.Verdict == evidence.Holds {
				if n := len(r.Order); n > 1 {
					try("order reversed", func(r *evidence.Result) { slices.Reverse(r.Order) })
					try("order shortened", func(r *evidence.Result) { r.Order = r.Order[:n-1] })
				}
				continue
			}
			if r.Verdict == evidence.Unknown {
				continue
			}
			a := r.Anomalies[0]
			switch a.Kind {
			case level.Ext:
				try("why", func(r *evidence.Result) { r.Anomalies[0].Why += "x" })
				try("axiom", func(r *evidence.Result) { r.Anomalies[0].Kind = level.Int; r.Anomalies[0].Why = "" })
				if h.NumTxns() == 1 {
					continue
				}
				try("reader", func(r *evidence.Result) {
					r.Anomalies[0].Txns = []uint32{(a.Txns[0] + 1) % uint32(h.NumTxns())}
				})
			case level.NoConflict:
				try("conflict turned round", func(r *evidence.Result) {
					r.Anomalies[0].Txns = []uint32{a.Txns[1],
						a.Txns[0]}
				})
				try("conflict with itself", func(r *evidence.Result) {
					r.Anomalies[0].Txns = []uint32{a.Txns[0],
						a.Txns[0]}
				})
				try("serializable", func(r *evidence.Result) { r.Level = level.SessionSerializable })
			case level.Session:
				try("session turned round", func(r *evidence.Result) {
					r.Anomalies[0].Txns = []uint32{a.Txns[1],
						a.Txns[0]}
				})
				try("no sessions", func(r *evidence.Result) { r.Level = level.SnapshotIsolation })
			}
			try("a cycle", func(r *evidence.Result) { r.Anomalies[0].Cycle = []evidence.Edge{{}} })
		}
	})
	// An order reversed may be one by chance where all is read at one timestamp.
	for what, n := range tried {
		if refused[what] < n && what != "order reversed" || histtest.Whole() && n < 20 {
			t.Errorf("%s: %d of %d wrong claims refused", what, refused[what], n)
		}
	}
}

// TestChronosFigure11: three transactions one after the other, of which the last does not see the second. Black-box
// checkers infer the order first, third, second; timestamps say that it was another. Errata C8.
func TestChronosFigure11(t *testing.T) {
	h := notation.MustParse("s1: w(x,1) ts[1,2] | s2: w(x,2) ts[3,4] | s3: r(x,1) ts[5,6]")
	for _, l := range []level.Level{level.SnapshotIsolation, level.SessionSnapshotIsolation} {
		r := answer(t, run.Replay{}, h, Options{Level: l})
		agree(t, r, evidence.Holds)
		r = answer(t, chronos, h, Options{Level: l})
		agree(t, r, evidence.Violated)
		if a := r.Anomalies[0]; len(r.Anomalies) != 1 || a.Kind != level.Ext || a.Why != "before" || r.Label() != "ts:"+
			l.String() || !slices.Equal(a.Txns, []uint32{2, 1, 0}) {
			t.Errorf("%s: %+v", r.Label(), r.Anomalies)
		}
	}
}

// TestStampedNeeds: without timestamps the verdict is unknown; timestamps that no database gives are bad input.
func TestStampedNeeds(t *testing.T) {
	h := random.Tiny(1, random.Options{})
	r, err := Run(t.Context(), chronos, h, Options{Level: level.SnapshotIsolation})
	must.Be(t, err == nil && r.Verdict == evidence.Unknown && r.Reason != "", "%+v, %v", r, err)
	h = notation.MustParse("_: w(0,1) ts[0,9] | _: w(1,1) ts[1,9]")
	_, err = Run(t.Context(), chronos, h, Options{Level: level.SnapshotIsolation})
	var in *history.InputError
	must.Be(t, errors.As(err, &in) && in.Field == "commit_ts", "error %v; expected one of the field commit_ts", err)
	if c, ok := Auto(h, level.SnapshotIsolation); !ok || c.Info().Timestamps {
		t.Error("auto trusts timestamps")
	}
}

// TestChronosCorpus: histories of PostgreSQL with its own timestamps are snapshot isolated. With one value or one
// timestamp altered they are not, and the altered transaction is named.
func TestChronosCorpus(t *testing.T) {
	histtest.OnlyLong(t)
	dir := os.Getenv("ISOVET_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(dir, "databases", "*-rr-ts-*"))
	if err != nil || len(files) == 0 {
		t.Skipf("SKIPPED, NOTHING TESTED: no histories with timestamps in %s (set ISOVET_CORPUS)", dir)
	}
	o := Options{Level: level.SessionSnapshotIsolation}
	for _, path := range files {
		h, err := format.Read(t.Context(), path, format.Options{})
		if err != nil {
			t.Error(err)
			continue
		}
		r, err := Run(t.Context(), chronos, h, o)
		if err != nil || r.Verdict != evidence.Holds {
			t.Errorf("%s: %v, %v", filepath.Base(path), r.Verdict, err)
			continue
		}
		for _, what := range []string{"value", "start", "commit"} {
			for n := range 6 {
				altered, undo := alter(h, what, n)
				if altered == history.None {
					t.Errorf("%s: nothing to alter (%s %d)", filepath.Base(path), what, n)
					continue
				}
				r, err := Run(t.Context(), chronos, h, o)
				undo()
				if err != nil || r.Verdict != evidence.Violated {
					t.Errorf("%s, %s of transaction %d altered: %v, %v", filepath.Base(path), what, h.Txns.ID[altered],
						r.Verdict, err)
					continue
				}
				if !slices.ContainsFunc(r.Anomalies, func(a evidence.Anomaly) bool {
					return slices.Contains(a.Txns, altered)
				}) {
					t.Errorf("%s, %s of transaction %d altered: not named in %+v", filepath.Base(path), what,
						h.Txns.ID[altered], r.Anomalies)
				}
			}
		}
	}
}

// TestChronosTimeKiller: CHRONOS's own examples. That of lists has two writers that commit at one timestamp: bad input
// (errata C3).
func TestChronosTimeKiller(t *testing.T) {
	dir := os.Getenv("ISOVET_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	dir = filepath.Join(dir, "timekiller", "examples")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		t.Skipf("SKIPPED, NOTHING TESTED: no examples of TimeKiller at %s (set ISOVET_CORPUS)", dir)
	}
	h := must.Get(format.Read(t.Context(), filepath.Join(dir, "format-kv.json"), format.Options{}))(t)
	for _, c := range []Checker{chronos, aion, called("emme-si")} {
		agree(t, answer(t, c, h, Options{Level: level.SessionSnapshotIsolation}), evidence.Holds)
	}
	h = must.Get(format.Read(t.Context(), filepath.Join(dir, "format-list.json"), format.Options{}))(t)
	var in *history.InputError
	if _, err := Run(t.Context(), chronos, h, Options{Level: level.SessionSnapshotIsolation}); !errors.As(err, &in) ||
		in.Field != "commit_ts" {
		t.Errorf("error %v; expected one of the field commit_ts", err)
	}
}

// alter changes the n-th sampled transaction of a history so that its timestamps are violated: the value of a read; the
// start of a reader, to before its writer's commit; the commit of a writer, to after the start of a reader of it.
func alter(h *history.History, what string, n int) (txn uint32, undo func()) {
	writer := make(map[uint32]uint32)
	for t := range uint32(h.NumTxns()) {
		if lo, hi := h.TxnOps(t); h.CommitTS(t) != history.NoTime && h.Txns.Status[t] == history.Committed {
			for op := lo; op < hi; op++ {
				if h.Ops.Kind[op] == history.Write {
					writer[h.Ops.Ver[op]] = t
				}
			}
		}
	}
	for t := uint32(1000 * (n + 1)); t < uint32(h.NumTxns()); t++ {
		if h.Txns.Status[t] != history.Committed {
			continue
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			w, ok := writer[v]
			if h.Ops.Kind[op] != history.Read || !ok || w == t {
				continue
			}
			switch what {
			case "value":
				if first := h.InitVer[h.VerKey[v]]; first != history.None {
					h.Ops.Ver[op] = first
					return t, func() { h.Ops.Ver[op] = v }
				}
			case "start":
				old := h.Txns.StartTS[t]
				h.Txns.StartTS[t] = h.Txns.CommitTS[w] - 1
				return t, func() { h.Txns.StartTS[t] = old }
			case "commit":
				old := h.Txns.CommitTS[w]
				taken := slices.Max(h.Txns.CommitTS)
				h.Txns.CommitTS[w] = taken + 1
				return w, func() { h.Txns.CommitTS[w] = old }
			}
		}
	}
	return history.None, nil
}
