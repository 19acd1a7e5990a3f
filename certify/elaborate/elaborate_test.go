package elaborate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"isovet/certify/elaborate"
	"isovet/certify/kernel"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/internal/test/histtest/random"
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
	if err != nil {
		t.Fatalf("%s %s: %v", r.Level, r.Verdict, err)
	}
	if r.Verdict == evidence.Holds {
		n.valid++
	} else {
		n.violated++
	}
	if r.H.NumTxns() == 0 {
		return
	}
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatalf("%v\n%.20000s", err, file)
	}
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
	if err != nil {
		t.Fatal(err)
	}
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
	for seed := range seeds(400) {
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
	r, err := check.Run(ctx, c, h, check.Options{Level: l})
	if err != nil {
		t.Fatal(err)
	}
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
	t.Run("weak", func(t *testing.T) { corpus(t, weakLevels, 85) })
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
