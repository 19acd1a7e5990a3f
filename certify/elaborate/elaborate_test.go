package elaborate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"isovet/certify"
	"isovet/certify/elaborate"
	"isovet/certify/kernel"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/random"
	"isovet/internal/test/must"
	"isovet/internal/test/oracle"
	"isovet/level"
)

var six = []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
	level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}

// tally counts what became of answers.
type tally struct {
	valid, violated, refused int
	open                     int // answers without a verdict
	why                      map[string]int
}

func (n *tally) String() string {
	s := fmt.Sprintf("%d valid, %d violated, %d not in the kernel's terms", n.valid, n.violated, n.refused)
	for _, why := range slices.Sorted(maps.Keys(n.why)) {
		s += fmt.Sprintf("\n%6d %s", n.why[why], why)
	}
	return s
}

// extracted is the program isovet-kernel, named by ISOVET_KERNEL; "" without.
var extracted = os.Getenv("ISOVET_KERNEL")

// judge puts an answer into the kernel's terms, which has the kernel's port judge it, and gives it to the extracted
// kernel too, if there is one.
func judge(t *testing.T, r *evidence.Result, n *tally) {
	t.Helper()
	p, err := elaborate.Prove(r, elaborate.Options{})
	var unsupported *elaborate.Unsupported
	if errors.As(err, &unsupported) {
		n.refused++
		n.why[unsupported.Why]++
		return
	}
	must.OK(t, err, "%s %s", r.Level, r.Verdict)
	if r.Verdict == evidence.Holds {
		n.valid++
	} else {
		n.violated++
	}
	if r.H.NumTxns() == 0 {
		return
	}
	var file bytes.Buffer
	must.OK(t, p.Write(&file))
	again(t, file.Bytes())
	if extracted == "" {
		return
	}
	if out, want := ask(file.Bytes()), "VERIFIED "+r.Verdict.String()+" "+p.Level+"\n"; out != want {
		t.Fatalf("%s %s: %s\n%.20000s", r.Level, r.Verdict, out, file.Bytes())
	}
}

// again reads a file that was written, has it judged, and writes it once more.
func again(t *testing.T, file []byte) {
	t.Helper()
	f, err := kernel.ReadFile(bytes.NewReader(file))
	must.Hold(t, err == nil, "%v\n%.20000s", err, file)
	if proved, where, err := f.Judge(); !proved {
		t.Fatalf("read again, it fails: %s %v\n%.20000s", where, err, file)
	}
	var saw func(t uint32) []uint32
	if len(f.Saw) > 0 {
		saw = func(t uint32) []uint32 { return f.Saw[t] }
	}
	var other bytes.Buffer
	err = kernel.WriteFile(&other, f.Level, kernel.All(f.History), f.Order, saw, f.Steps)
	if strings.HasPrefix(f.Level, "ts:") {
		other.Reset()
		err = kernel.WriteStamped(&other, f.Level, kernel.All(f.History),
			func(t uint32) (uint64, uint64, bool) { return f.Stamps[t][0], f.Stamps[t][1], true }, f.Order, f.Wrong)
	}
	must.OK(t, err)
	if !bytes.Equal(file, other.Bytes()) {
		t.Fatalf("%.20000s\nread and written again:\n%.20000s", file, other.Bytes())
	}
}

// ask is what the extracted kernel says of a file.
func ask(file []byte) string {
	cmd := exec.Command(extracted, "-")
	cmd.Stdin = bytes.NewReader(file)
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// seeds is how many random histories there are: few, or as many as ISOVET_KERNEL_SEEDS says.
func seeds(few uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv("ISOVET_KERNEL_SEEDS"), 10, 64); err == nil {
		return n
	}
	return few
}

func options(seed uint64) random.Options {
	return random.Options{Duplicates: seed&1 != 0, Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0,
		Lists: seed&48 == 16, Predicates: seed&48 == 32}
}

// TestRandom: answers about random histories are in the kernel's terms.
func TestRandom(t *testing.T) {
	n, lists := tally{why: map[string]int{}}, tally{why: map[string]int{}}
	for seed := range seeds(240) {
		o := options(seed)
		to := &n
		if o.Lists {
			to = &lists
		}
		h := random.Tiny(seed, o)
		for _, l := range six {
			answered(t, h, l, to)
		}
	}
	if n.refused > 0 {
		t.Error("without lists: ", &n)
	}
	if lists.refused > 0 {
		t.Error("lists: ", &lists)
	}
	t.Log(&n)
	t.Log("lists: ", &lists)
}

// answered has a history checked and the answer judged.
func answered(t *testing.T, h *history.History, l level.Level, n *tally) {
	t.Helper()
	c, _ := check.Choose(check.AutoName, "", h, l)
	if c == nil {
		n.open++
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // an answer without a verdict is not judged
	defer cancel()
	r := must.Get(check.Run(ctx, c, h, check.Options{Level: l}))(t)
	if r.Verdict == evidence.Unknown {
		n.open++
		return
	}
	judge(t, r, n)
}

// TestCorpus: the answers about the corpus of real histories at the nine levels. Of a hundred ninety-five are in the
// kernel's terms, of the weak levels, where no list is, eighty-five; docs/trust.md has the table of the others.
func TestCorpus(t *testing.T) {
	t.Run("six", func(t *testing.T) { corpus(t, six, 95) })
	t.Run("weak", func(t *testing.T) { corpus(t, weakLevels, 83) })
}

func corpus(t *testing.T, levels []level.Level, least int) {
	dir := filepath.Join("..", "..", "..", "shared", "corpus")
	manifest, err := os.ReadFile(filepath.Join(dir, "MANIFEST.tsv"))
	if err != nil || os.Getenv("ISOVET_LONG") == "" {
		t.Skipf("SKIPPED, NOTHING TESTED: no corpus of real histories at %s, or no ISOVET_LONG", dir)
	}
	n, unread := tally{why: map[string]int{}}, 0
	part, _ := strconv.Atoi(os.Getenv("ISOVET_KERNEL_PART")) // every so manieth alone
	for i, line := range strings.Split(string(manifest), "\n")[1:] {
		path, _, _ := strings.Cut(line, "\t")
		if path == "" || part > 1 && i%part != 0 {
			continue
		}
		h, err := format.Read(t.Context(), filepath.Join(dir, path), format.Options{})
		if err != nil {
			unread++
			continue
		}
		for _, l := range levels {
			before := maps.Clone(n.why)
			answered(t, h, l, &n)
			for why, is := range n.why {
				if is > before[why] {
					t.Log(path, l, why)
				}
			}
		}
	}
	t.Log(&n)
	t.Log(n.open, "answers without a verdict,", unread, "files that have to be converted first")
	if some := n.valid + n.violated; some == 0 || 100*some < least*(some+n.refused) {
		t.Errorf("less than %d of 100 answers are in the kernel's terms", least)
	}
}

// manyWriters is a history in which transaction 1 reads a value that each of n others may have written, all of which
// read what it wrote, and a violation of n cases.
func manyWriters(n int) *evidence.Result {
	b := history.NewBuilder()
	x, y := b.Key(history.IntValue(1)), b.Key(history.IntValue(2))
	end := func(session int) {
		head := history.NewTxnHead()
		head.Session, head.HasSess = int64(session), true
		b.EndTxn(head)
	}
	b.Read(x, history.IntValue(7))
	b.Write(y, history.IntValue(1))
	end(1)
	for i := range n {
		b.Read(y, history.IntValue(1))
		b.Write(x, history.IntValue(7))
		end(2 + i)
	}
	h := must.Have(b.Build())
	a := evidence.Anomaly{}
	seven, one := h.Ops.Ver[0], h.Ops.Ver[1]
	for w := uint32(1); w <= uint32(n); w++ {
		a.Cycles = append(a.Cycles, []evidence.Edge{
			{From: w, To: 0, Dep: evidence.WR, Key: h.VerKey[seven], Ver: seven, Writer: history.None},
			{From: 0, To: w, Dep: evidence.WR, Key: h.VerKey[one], Ver: one, Writer: history.None}})
	}
	a.Complete(h, level.Serializable, 0)
	return &evidence.Result{Verdict: evidence.Violated, Level: level.Serializable, H: h,
		Anomalies: []evidence.Anomaly{a}}
}

// TestManyCases: five thousand cases make some fifteen thousand steps: a cycle and two sources each at most.
func TestManyCases(t *testing.T) {
	n := histtest.Long(1000, 2000)
	r := manyWriters(n)
	must.Get(certify.Names(r, certify.Options{}))(t)
	p := must.Get(elaborate.Prove(r, elaborate.Options{}))(t)
	hints := 0
	for i := range p.Steps {
		hints += len(p.Steps[i].Hints)
	}
	must.Be(t, len(p.Steps) <= 4*n && hints <= 8*n, "%d steps with %d hints for %d cases", len(p.Steps), hints, n)
	if extracted != "" {
		var file bytes.Buffer
		must.OK(t, p.Write(&file))
		must.Equal(t, ask(file.Bytes()), "VERIFIED violation serializable\n", "the kernel")
	}
	// what evidence leaves out, the graph finds
	r.Anomalies[0].Cycles = r.Anomalies[0].Cycles[1:]
	if _, err := elaborate.Prove(r, elaborate.Options{}); err != nil {
		t.Errorf("a case that the evidence leaves out is not found again: %v", err)
	}
}

// TestReaderThatDoesNotCount: of transactions of unknown outcome that are assumed not to take part the graph has no
// edges. It had, and found the same cycles for ever.
func TestReaderThatDoesNotCount(t *testing.T) {
	if n := ends(t, "cycle-through-a-reader-that-does-not-count"); n.violated == 0 {
		t.Error(n)
	}
}

// TestOtherReaders: where an element was appended more than once, it may take a reader whom the evidence does not name
// to say whose it is.
func TestOtherReaders(t *testing.T) {
	for _, name := range []string{"list-order-shown-by-another-reader",
		"list-order-shown-by-an-early-and-a-late-reader", "list-lost-update-shown-by-another-reader"} {
		if n := ends(t, name); n.refused > 0 || n.violated == 0 {
			t.Error(name, n)
		}
	}
}

func ends(t *testing.T, name string) *tally {
	t.Helper()
	n := &tally{why: map[string]int{}}
	h := must.Get(format.Read(t.Context(), "testdata/"+name+".jsonl", format.Options{}))(t)
	for _, l := range six {
		c := must.Get(check.ByName("replay"))(t)
		r := must.Get(check.Run(t.Context(), c, h, check.Options{Level: l}))(t)
		judge(t, r, n)
	}
	return n
}

// TestRowsAtReadCommitted: what holds at read committed of a history with predicates is in the kernel's terms, and
// where a read or a matched row is changed, no order is accepted that brute force calls a violation.
func TestRowsAtReadCommitted(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	n, accepted, mutants := tally{why: map[string]int{}}, 0, 0
	for seed := range seeds(600) {
		o := options(seed&15 | 32)
		h := random.Tiny(seed, o)
		r := answer(t, h, level.ReadCommitted)
		if r.Verdict != evidence.Holds {
			continue
		}
		judge(t, r, &n)
		for range 3 {
			g := *h
			g.Ops.Ver, g.Preds.Old = slices.Clone(h.Ops.Ver), slices.Clone(h.Preds.Old)
			other := func(v uint32) uint32 {
				var vs []uint32
				for w, k := range h.VerKey {
					if k == h.VerKey[v] {
						vs = append(vs, uint32(w))
					}
				}
				return vs[rng.IntN(len(vs))]
			}
			if i := rng.IntN(max(len(g.Preds.Old), 1)); i < len(g.Preds.Old) && g.Preds.Old[i] != history.None {
				g.Preds.Old[i] = other(g.Preds.Old[i])
			} else if op := rng.IntN(max(h.NumOps(), 1)); op < h.NumOps() && h.Ops.Kind[op] == history.Read {
				g.Ops.Ver[op] = other(g.Ops.Ver[op])
			} else {
				continue
			}
			mutants++
			x := *r
			x.H = &g
			if _, err := elaborate.Prove(&x, elaborate.Options{}); err != nil {
				continue
			}
			accepted++
			is, err := oracle.Check(&g, oracle.Options{Level: level.ReadCommitted, VerdictOnly: true})
			must.OK(t, err)
			must.Hold(t, is.Verdict != evidence.Violated,
				"seed %d: an order is accepted, brute force says it is a violation", seed)
		}
	}
	if n.refused*50 > n.valid || n.valid < 50 || accepted < 20 {
		t.Error(&n, accepted, mutants)
	}
	t.Log(&n)
	t.Log(mutants, "changed histories,", accepted, "accepted")
}
