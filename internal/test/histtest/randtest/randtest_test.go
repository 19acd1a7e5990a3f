package randtest

import (
	"encoding/json"
	"errors"
	"isovet/internal/test/must"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTry: a judge's failure is told apart by its line, also where a helper fails for it; a panic is a failure, and
// what passes is none.
func TestTry(t *testing.T) {
	judge := func(t testing.TB, seed uint64) {
		switch seed {
		case 1:
			t.Errorf("one")
			t.Fatal("and then")
		case 2:
			t.Fatalf("seed %d", seed)
		case 3:
			panic("three")
		case 4:
			must.Equal(t, 1, 2, "four")
		case 5:
			must.Equal(t, 1, 2, "five")
		}
	}
	classes := map[string]bool{}
	for seed, want := range []string{"", "one\nand then", "seed 2", "panic: three", "four: 1; expected 2", "five"} {
		err := Try(t, func(t testing.TB) { judge(t, uint64(seed)) })
		if want == "" {
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			continue
		}
		f, ok := errors.AsType[*Failure](err)
		must.Hold(t, ok && strings.HasPrefix(f.Err.Error(), want), "seed %d: %v; want %q", seed, err, want)
		classes[f.Class] = true
	}
	must.Equal(t, len(classes), 5, "classes %v", classes)
}

// shape is a value of all kinds that are cut down.
type shape struct {
	Nums  []int
	Named map[string]bool
	Text  string
}

// TestReport: a value that fails by two of its numbers is cut down to those, written with its seed, and fails when it
// is read again.
func TestReport(t *testing.T) {
	judge := func(t testing.TB, seed uint64, x shape) {
		if seed == 7 && slices.ContainsFunc(x.Nums, func(n int) bool { return n < -2 }) &&
			slices.ContainsFunc(x.Nums, func(n int) bool { return n > 9 }) && strings.Contains(x.Text, "b") {
			t.Fatal("both")
		}
	}
	x := shape{Nums: []int{1, 2, 300, -400, 5, 6}, Named: map[string]bool{"x": true}, Text: "a\nb\nc\n"}
	dir := t.TempDir()
	message := report(t, dir, 7, x, Try(t, func(t testing.TB) { judge(t, 7, x) }), judge)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v: %v", files, err)
	}
	text := must.Get(os.ReadFile(files[0]))(t)
	want := `{"Seed":7,"Value":{"Named":{"x":false},"Nums":[10,-3],"Text":"b\n"}}`
	if string(text) != want || !strings.Contains(message, want) || again(t, text, judge) == nil {
		t.Errorf("written %s\nwant %s\nsaid %s", text, want, message)
	}
	if again(t, []byte(`{"Seed":6,"Value":{"Nums":[10,-3],"Text":"b"}}`), judge) != nil {
		t.Error("fails by another seed")
	}
}

// TestNotWritten: a value that JSON does not hold is reported as it is.
func TestNotWritten(t *testing.T) {
	type hidden struct{ n int }
	judge := func(t testing.TB, seed uint64, x hidden) {
		if x.n == 3 {
			t.Error("three")
		}
	}
	x := hidden{3}
	message := report(t, t.TempDir(), 1, x, Try(t, func(t testing.TB) { judge(t, 1, x) }), judge)
	if !strings.Contains(message, "three") || !strings.Contains(message, "not cut down") {
		t.Error(message)
	}
}

// TestShrink: an array of arrays loses what it can, and the numbers come down.
func TestShrink(t *testing.T) {
	fails := func(value []byte) bool {
		var x [][]int
		if json.Unmarshal(value, &x) != nil {
			return false
		}
		sum := 0
		for _, row := range x {
			for _, n := range row {
				sum += n
			}
		}
		return sum >= 5
	}
	must.Equal(t, string(shrink([]byte(`[[1,2,3],[],[4,-5,6],[100]]`), fails)), `[[5]]`, "shrunk")
}
