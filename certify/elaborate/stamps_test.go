package elaborate_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"isovet/certify/elaborate"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/level"
)

var stampedLevels = []level.Level{level.Serializable, level.SessionSerializable, level.SnapshotIsolation,
	level.SessionSnapshotIsolation}

// stampedKinds are histories with timestamps. Lists stand alone: the kernel's terms have none beside registers.
var stampedKinds = []random.StampedOptions{
	{},
	{Ties: true},
	{Serial: true, Ties: true},
	{Ties: true, Duplicates: true, Deletes: true, Aborted: true, Unknown: true},
	{Predicates: true, Deletes: true, Duplicates: true, Aborted: true, Unknown: true},
	{Ties: true, Lists: true, Aborted: true, Unknown: true},
}

// stampedAnswer is what CHRONOS says, whose answers its own tests compare with the definitions.
func stampedAnswer(t *testing.T, h *history.History, o check.Options) *evidence.Result {
	t.Helper()
	c := must.Get(check.ByName("chronos"))(t)
	return must.Get(check.Run(t.Context(), c, h, o))(t)
}

// eachStamped goes through histories, levels, and where readers stand.
func eachStamped(t *testing.T, n uint64, f func(seed uint64, kind int, h *history.History, o check.Options)) {
	for kind, so := range stampedKinds {
		for seed := range seeds(n) {
			h := random.Stamped(seed, so)
			for _, l := range stampedLevels {
				f(seed, kind, h, check.Options{Level: l})
				if l.Serial() {
					f(seed, kind, h, check.Options{Level: l, ReadOnlyAtStart: true})
				}
			}
		}
	}
}

// TestStamps: the kernel accepts what CHRONOS says, of registers and predicates all of it.
func TestStamps(t *testing.T) {
	var registers, lists tally
	registers.why, lists.why = map[string]int{}, map[string]int{}
	eachStamped(t, histtest.Long[uint64](45, 150), func(seed uint64, kind int, h *history.History, o check.Options) {
		r := stampedAnswer(t, h, o)
		if r.Verdict == evidence.Unknown {
			return
		}
		to := &registers
		if stampedKinds[kind].Lists {
			to = &lists
		}
		judge(t, r, to)
	})
	if registers.refused > 0 || registers.valid < 200 || registers.violated < 200 {
		t.Error(&registers)
	}
	if lists.valid+lists.violated < 10 {
		t.Error("lists: ", &lists)
	}
	t.Log("registers: ", &registers, "; lists: ", &lists)
}

// TestStampMutants: the kernel is told the contrary of what CHRONOS says, with an order that is near the right one, or
// with anomalies at random, and accepts none of it. The extracted kernel says the same as its port.
func TestStampMutants(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	mutants, accepted := 0, 0
	eachStamped(t, histtest.Long[uint64](60, 100), func(seed uint64, kind int, h *history.History, o check.Options) {
		r := stampedAnswer(t, h, o)
		if r.Verdict == evidence.Unknown || h.NumTxns() == 0 {
			return
		}
		for range 6 {
			x := *r
			x.Anomalies, x.Order = nil, stampOrder(h, o)
			if x.Verdict = evidence.Holds; rng.IntN(2) == 0 {
				x.Verdict, x.Order = evidence.Violated, nil
				x.Anomalies = []evidence.Anomaly{randomAnomaly(rng, h)}
			}
			for n := len(x.Order); n > 1 && rng.IntN(3) > 0; {
				i := rng.IntN(n - 1)
				a, b := x.Order[i], x.Order[i+1]
				if o.Level.Serial() || a>>1 != b>>1 { // in a file the first of both is the begin
					x.Order[i], x.Order[i+1] = b, a
				}
			}
			p, err := elaborate.Prove(&x, elaborate.Options{})
			mutants++
			if err == nil {
				accepted++
				if x.Verdict != r.Verdict {
					t.Fatalf("kind %d, seed %d, %s: %s is accepted, CHRONOS says %s", kind, seed,
						evidence.Label(r.Level, true), x.Verdict, r.Verdict)
				}
			}
			if p == nil || extracted == "" {
				continue
			}
			var file bytes.Buffer
			must.OK(t, p.Write(&file))
			if !errors.As(err, new(*elaborate.Refused)) && err != nil && !wrongLine.Match(file.Bytes()) {
				continue
			}
			if out := ask(file.Bytes()); strings.HasPrefix(out, "VERIFIED") != (err == nil) {
				t.Fatalf("kind %d, seed %d, %s: the port says %v, the extracted kernel %s%s", kind, seed,
					evidence.Label(r.Level, true), err, out, file.Bytes())
			}
		}
	})
	must.Be(t, accepted >= mutants/20 && accepted <= mutants*3/4,
		"of %d mutants %d accepted; expected some, and not most", mutants, accepted)
}

// wrongLine says what is wrong.
var wrongLine = regexp.MustCompile(`(?m)^(early|overlaps|conflicts|unexplained) `)

// stampOrder is the order of the timestamps, which CHRONOS tells only of valid histories.
func stampOrder(h *history.History, o check.Options) []uint32 {
	type entry struct {
		at    int64
		looks bool
		e     uint32
	}
	var all []entry
	for t := range uint32(h.NumTxns()) {
		c := h.CommitTS(t)
		if t == h.Init || h.Txns.Status[t] == history.Aborted || c == history.NoTime {
			continue
		}
		lo, hi := h.TxnOps(t)
		writes := false
		for op := lo; op < hi; op++ {
			kind := h.Ops.Kind[op]
			writes = writes || kind == history.Write || kind == history.Append || kind == history.PredWrite
		}
		switch {
		case !o.Level.Serial():
			all = append(all, entry{h.StartTS(t), true, t << 1}, entry{c, !writes, t<<1 | 1})
		case o.ReadOnlyAtStart && !writes:
			all = append(all, entry{h.StartTS(t), true, t})
		default:
			all = append(all, entry{c, !writes, t})
		}
	}
	slices.SortStableFunc(all, func(a, b entry) int {
		switch {
		case a.at != b.at && a.at < b.at, a.at == b.at && !a.looks && b.looks:
			return -1
		case a.at == b.at && a.looks == b.looks:
			return 0
		}
		return 1
	})
	var order []uint32
	for _, a := range all {
		order = append(order, a.e)
	}
	return order
}

func randomAnomaly(rng *rand.Rand, h *history.History) evidence.Anomaly {
	kinds := []level.Anomaly{level.Session, level.Int, level.Ext, level.NoConflict, level.Timestamps}
	n := uint32(h.NumTxns())
	return evidence.Anomaly{Kind: kinds[rng.IntN(len(kinds))], Txns: []uint32{rng.Uint32N(n), rng.Uint32N(n)},
		Key: rng.Uint32N(uint32(h.NumKeys()) + 1)}
}
