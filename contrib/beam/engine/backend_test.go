package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/memfs"

	"isovet/check/spill"
	"isovet/contrib/beam/run"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/test/histtest/random"
	"isovet/level"
)

// parts writes a history as one or two files, and divides it into small pieces.
func parts(t *testing.T, seed uint64, h *history.History) *split.Set {
	t.Helper()
	name := filepath.Join(t.TempDir(), "h."+[]string{"jsonl", "ivh"}[seed%2])
	if err := format.Write(name, h, "auto", false); err != nil {
		t.Fatal(err)
	}
	set, err := split.Plan(context.Background(), []string{name}, split.Options{PieceBytes: 400})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// shown is what of an answer is the same whoever did the work: all but how much of it there was.
func shown(t *testing.T, a *spill.Answer) string {
	t.Helper()
	s := fmt.Sprintf("%s %q\n%v\n%v\n%+v\n", a.Verdict, a.Reason, a.Open, a.Moves, a.Stats)
	for _, r := range append(a.Found, a.Proof) {
		if r == nil {
			continue
		}
		timeless := *r
		timeless.Stats = evidence.Stats{}
		b, err := evidence.JSON(&timeless, "h")
		if err != nil {
			t.Fatal(err)
		}
		s += string(b) + "\n"
	}
	return s
}

// TestSameAnswer: on Prism a check gives what it gives with files on disk, to the last byte: verdict, proofs,
// exceptions and counts.
func TestSameAnswer(t *testing.T) {
	n := uint64(25)
	if os.Getenv("ISOVET_LONG") != "" {
		n = 3000
	}
	ctx := context.Background()
	r := &run.Runner{Name: "prism", Stderr: os.Stderr}
	defer r.Close()
	counts := map[string]int{}
	for seed := range n {
		h := random.Tiny(seed, random.Options{Txns: 2 + int(seed%40), Keys: 1 + int(seed/9%4), Duplicates: seed&1 != 0,
			Deletes: seed&2 != 0, Aborted: seed&4 != 0, Unknown: seed&8 != 0})
		set := parts(t, seed, h)
		in, err := spill.Of(set)
		if err != nil {
			t.Fatal(err)
		}
		rnd := rand.New(rand.NewPCG(seed, 3))
		o := spill.Options{Level: spill.Levels()[rnd.IntN(len(spill.Levels()))], Parts: 1 + rnd.IntN(7), Workers: 2,
			Dir: filepath.Join(t.TempDir(), "local")}
		want, werr := spill.Check(ctx, in, o)
		e := &Engine{Runner: r, Dir: filepath.Join(t.TempDir(), "beam"), Grouped: seed%4 == 0}
		o.Backend = &Backend{Engine: e, Set: set}
		got, gerr := spill.Check(ctx, in, o)
		if fmt.Sprint(werr) != fmt.Sprint(gerr) || reflect.TypeOf(werr) != reflect.TypeOf(gerr) && gerr == nil {
			t.Fatalf("seed %d, %s: %v; on disk %v", seed, o.Level, gerr, werr)
		}
		if werr != nil {
			counts["error"]++
			continue
		}
		if w, g := shown(t, want), shown(t, got); w != g {
			t.Fatalf("seed %d, %s: on Prism\n%s\non disk\n%s", seed, o.Level, g, w)
		}
		counts[want.Verdict.String()]++
		if want.Stats.Windows > 0 {
			counts["with windows"]++
		}
	}
	t.Log(counts)
	if counts["valid"] == 0 || counts["violation"] == 0 || counts["with windows"] == 0 {
		t.Error("some kind of answer is missing")
	}
}

// TestRemote: histories and work folder may be on another file system of Beam's; here one in memory.
func TestRemote(t *testing.T) {
	ctx := context.Background()
	t.Setenv("TMPDIR", t.TempDir())
	r := &run.Runner{Name: "prism", Stderr: os.Stderr}
	defer r.Close()
	h := random.Tiny(3, random.Options{Txns: 30, Keys: 3})
	for _, name := range []string{"h.ivh", "h.jsonl"} {
		file := filepath.Join(t.TempDir(), name)
		if err := format.Write(file, h, "auto", false); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		memfs.Write("memfs://in/"+name, b)
		set, from, err := Plan(ctx, []string{"memfs://in/" + name}, split.Options{PieceBytes: 400})
		if err != nil {
			t.Fatal(err)
		}
		in, err := spill.Of(set)
		if err != nil {
			t.Fatal(err)
		}
		o := spill.Options{Level: level.SessionSerializable, Parts: 3, Workers: 2,
			Dir: filepath.Join(t.TempDir(), "local")}
		want, err := spill.Check(ctx, in, o)
		if err != nil {
			t.Fatal(err)
		}
		from.Clean() // the workers make copies of their own
		e := &Engine{Runner: r, Dir: "memfs://work-" + name}
		o.Backend = &Backend{Engine: e, Set: set, From: from}
		got, err := spill.Check(ctx, in, o)
		if err != nil {
			t.Fatal(err)
		}
		if w, g := shown(t, want), shown(t, got); w != g {
			t.Fatalf("%s: from afar\n%s\nfrom here\n%s", name, g, w)
		}
	}
	if _, _, err := Plan(ctx, []string{"memfs://in/none"}, split.Options{}); err == nil {
		t.Error("a file that is not there is a history")
	}
}
