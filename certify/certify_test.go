package certify_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/notation"
	"isovet/internal/test/histtest/oracletest"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

var six = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
	level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}

var shapes = []oracletest.Shape{
	{Txns: 5, Keys: 3, Sessions: 4, Ops: 4},
	{Txns: 5, Keys: 2, Sessions: 4, Ops: 4, Duplicates: true, Deletes: true, Init: true},
	{Txns: 5, Keys: 2, Sessions: 3, Ops: 4, Aborted: true, Unknown: true, Init: true},
	{Txns: 5, Keys: 2, Sessions: 4, Ops: 4, Lists: true, Init: true, Aborted: true, Unknown: true},
}

// Orders, right and mutilated, are accepted exactly if they explain the history.
func TestOrders(t *testing.T) {
	accepted, refused := 0, 0
	histtest.Each(t, 1500, func(seed uint64) *history.History {
		return oracletest.Random(seed, shapes[seed%uint64(len(shapes))])
	}, func(t testing.TB, seed uint64, h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 1))
		for _, l := range six {
			r := must.Get(oracle.Check(h, oracle.Options{Level: l, VerdictOnly: true}))(t)
			order := r.Order
			if r.Verdict != evidence.Holds {
				r.Verdict = evidence.Holds
				for u := range uint32(h.NumTxns()) {
					if l.Serial() {
						order = append(order, u)
					} else {
						order = append(order, u<<1, u<<1|1)
					}
				}
				order = slices.DeleteFunc(order, func(e uint32) bool {
					u := e
					if !l.Serial() {
						u = e >> 1
					}
					return u == h.Init || h.Txns.Status[u] == history.Aborted
				})
			}
			for i := range 8 {
				r.Order = slices.Clone(order)
				if n := len(order); i > 0 && n > 0 {
					switch a, b := rng.IntN(n), rng.IntN(n); rng.IntN(7) {
					case 0:
						r.Order = slices.Delete(r.Order, a, a+1)
					case 1:
						r.Order = append(r.Order, r.Order[a])
					case 2:
						r.Order[a] = uint32(rng.IntN(2*h.NumTxns() + 1))
					case 3:
						r.Order[a] ^= 1
					case 4:
						rng.Shuffle(n, func(i, j int) { r.Order[i], r.Order[j] = r.Order[j], r.Order[i] })
					default:
						r.Order[a], r.Order[b] = r.Order[b], r.Order[a]
					}
				}
				err := certify.Check(r, certify.Options{})
				want := explains(h, l, r.Order)
				if (err == nil) != want {
					t.Fatalf("seed %d, %s: order %v: explains: %v, certify: %v\n%s", seed, l, r.Order, want, err,
						oracletest.String(h))
				}
				if want {
					accepted++
				} else {
					refused++
				}
			}
		}
	})
	t.Logf("%d orders accepted, %d refused", accepted, refused)
	if histtest.Whole() && min(accepted, refused) < 10000 {
		t.Error("too few of one kind")
	}
}

func abortedShape(seed uint64) oracletest.Shape {
	s := shapes[seed%uint64(len(shapes))]
	s.Aborted = true
	return s
}

// Anomalies of single reads: the right ones are accepted, another operation or another name is not.
func TestSingleReads(t *testing.T) {
	seen := map[level.Anomaly]int{}
	kinds := []level.Anomaly{level.ThinAirRead, level.G1a, level.G1b, level.FutureRead, level.NotMyOwnWrite,
		level.NotMyLastWrite, level.NonRepeatableRead}
	histtest.Each(t, 4000, func(seed uint64) *history.History {
		return oracletest.Random(seed, abortedShape(seed))
	}, func(t testing.TB, seed uint64, h *history.History) {
		rng := rand.New(rand.NewPCG(seed, 4))
		r := must.Get(oracle.Check(h, oracle.Options{}))(t)
		if r.Verdict != evidence.Violated || len(r.Anomalies[0].Ops) == 0 {
			return
		}
		a := r.Anomalies[0]
		seen[a.Kind]++
		r.Anomalies = []evidence.Anomaly{a}
		must.OK(t, certify.Check(r, certify.Options{}), "seed %d", seed)
		kind := h.Ops.Kind[a.Ops[0]]
		for i := range a.Ops {
			for op := range uint32(h.NumOps()) {
				b := evidence.Anomaly{Kind: a.Kind, Ops: slices.Clone(a.Ops)}
				if b.Ops[i] = op; op == a.Ops[i] {
					continue
				}
				b.Complete(h, r.Level, 0)
				r.Anomalies[0] = b
				// Another operation may show another anomaly of the kind, but only one that reads, writes and says the
				// same.
				if err := certify.Check(r, certify.Options{}); err == nil && h.Ops.Kind[op] != h.Ops.Kind[a.Ops[i]] {
					t.Fatalf("seed %d: %s with operations %v is accepted, as with %v\n%s", seed, b.Kind, b.Ops, a.Ops,
						oracletest.String(h))
				}
			}
		}
		b := a
		if b.Kind = kinds[rng.IntN(len(kinds))]; b.Kind == a.Kind {
			return
		}
		r.Anomalies[0] = b
		// Of a list several things can be wrong at once, and an aborted transaction's intermediate version is both G1a
		// and G1b.
		both := a.Kind == level.G1a && b.Kind == level.G1b
		if err := certify.Check(r, certify.Options{}); err == nil && kind == history.Read && !both {
			t.Fatalf("seed %d: %s is accepted as %s\n%s", seed, a.Kind, b.Kind, oracletest.String(h))
		}
	})
	t.Log(seen)
	for _, k := range kinds {
		must.Be(t, !histtest.Whole() || seen[k] != 0, "no %s in the sample", k)
	}
}

func TestRefuses(t *testing.T) {
	h := oracletest.Parse("T1 s1 [1,3]: r(x,0) r(y,0) w(x,1)\nT2 s2 [2,4]: r(x,0) r(y,0) w(y,1)")
	good, err := oracle.Check(h, oracle.Options{})
	if err != nil || good.Verdict != evidence.Violated {
		t.Fatal(good, err)
	}
	for _, c := range []struct {
		change func(*evidence.Result)
		want   string
	}{
		{func(r *evidence.Result) { r.H = nil }, "names no history"},
		{func(r *evidence.Result) { r.Verdict = evidence.Unknown }, "has no reason"},
		{func(r *evidence.Result) { r.Verdict = 9 }, "no verdict 9"},
		{func(r *evidence.Result) { r.Verdict = evidence.Holds }, "valid, but the number of anomalies is 1"},
		{func(r *evidence.Result) { r.Anomalies = nil }, "has no anomaly"},
		{func(r *evidence.Result) { r.Level = level.SnapshotIsolation }, "adjacent"},
		{func(r *evidence.Result) { r.Level = level.ReadCommitted },
			"anomaly 0 (write-skew): the cycle: the cycle has two anti-dependencies, which read-committed allows"},
		{func(r *evidence.Result) { r.Anomalies[0].Txns = []uint32{0} }, "but the anomaly does not list it"},
		{func(r *evidence.Result) { r.Anomalies[0].Txns = []uint32{0, 1, 1} }, "listed twice"},
		{func(r *evidence.Result) { r.Anomalies[0].Ops = []uint32{0} }, "has operations and cycles"},
		{func(r *evidence.Result) { r.Anomalies[0].Kind = level.G1a }, "has a cycle"},
		{func(r *evidence.Result) { r.Anomalies[0].Cycle[0].Dep = evidence.TS }, "cannot certify edges of kind ts"},
		{func(r *evidence.Result) { r.Anomalies[0].Cycle = r.Anomalies[0].Cycle[:1] }, "the number of edges is 1"},
	} {
		r := *good
		r.Anomalies = slices.Clone(r.Anomalies)
		r.Anomalies[0].Cycle = slices.Clone(r.Anomalies[0].Cycle)
		c.change(&r)
		if err := certify.Check(&r, certify.Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v; expected %q", err, c.want)
		}
	}
	if err := certify.Check(good, certify.Options{ClockSkew: -1}); err == nil {
		t.Error("a negative skew is accepted")
	}
	ph := notation.MustParse(`_: pr{"v":{"=":1}}[]`)
	var u *certify.Unsupported
	if err := certify.Check(&evidence.Result{Verdict: evidence.Holds, Level: level.RepeatableRead, H: ph,
		Order: []uint32{0}}, certify.Options{}); !errors.As(err, &u) {
		t.Errorf("predicates: %v", err)
	}
}

// TestBoundsOfOne: with each bound at one, and with all of them, a certificate is judged as ever, or given up.
func TestBoundsOfOne(t *testing.T) {
	judged, gaveUp := 0, 0
	randtest.Seeds(t, 600, func(t testing.TB, seed uint64) {
		seed = max(map[uint64]uint64{7: 846297938}[seed], seed) // a list element appended twice by one transaction
		f := forgery{seed: seed, rng: rand.New(rand.NewPCG(seed, 0xb0)), s: randomScene(seed), count: map[string]int{}}
		if n := f.s.h.NumTxns(); n == 0 || n > maxOracle+1 {
			return
		}
		genuine := f.genuine()
		for i := range 6 * len(genuine) {
			r := genuine[i%len(genuine)]
			if i >= len(genuine) {
				r = f.changed(r, genuine)
			}
			o := certify.Options{ClockSkew: f.s.skew}
			want := certify.Check(r, o)
			for _, b := range [][3]int{{1, 16, 1 << 20}, {1 << 11, 1, 1 << 20}, {1 << 11, 16, 1}, {1, 1, 1}} {
				undo := certify.SetBounds(b[0], b[1], b[2])
				got := certify.Check(r, o)
				undo()
				var cannot *certify.Unsupported
				switch {
				case errors.Is(got, certify.ErrGaveUp), errors.As(got, &cannot) && !errors.As(want, &cannot):
					gaveUp++
				case (got == nil) != (want == nil):
					t.Fatalf("seed %d, bounds %v: %v; with the usual ones %v\n%s", seed, b, got, want, f.about())
				default:
					judged++
				}
			}
		}
	})
	undo := certify.SetBounds(1, 1, 1)
	if unsat, err := certify.Unsatisfiable(pigeons(5), certify.Options{}); unsat || !errors.Is(err, certify.ErrGaveUp) {
		t.Errorf("pigeons: %v, %v", unsat, err)
	}
	undo()
	t.Logf("%d judged, %d given up", judged, gaveUp)
	if randtest.Whole() && (judged < 1000 || gaveUp == 0) {
		t.Errorf("%d judged, %d given up", judged, gaveUp)
	}
}
