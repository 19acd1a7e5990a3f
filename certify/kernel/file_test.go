package kernel_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"isovet/certify/kernel"
)

// answer is what isovet-kernel prints of a file, by the port; "" where it is not read, or too much.
func answer(file []byte) string {
	f, err := kernel.ReadFile(bytes.NewReader(file))
	if err != nil {
		return ""
	}
	proved, where, err := f.Judge()
	switch {
	case err != nil:
		return ""
	case proved:
		return fmt.Sprintf("VERIFIED %s %s\n", f.Verdict(), f.Level)
	}
	return fmt.Sprintf("NOT VERIFIED %s %s: %s\n", f.Verdict(), f.Level, where)
}

func examples(t *testing.T) (files [][]byte) {
	t.Helper()
	names, err := filepath.Glob("../proofs/testdata/*.txt")
	if err != nil || len(names) < 20 {
		t.Fatal(err, names)
	}
	for _, name := range names {
		file, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// TestExamples: the first line of each example says what isovet-kernel says of it.
func TestExamples(t *testing.T) {
	for _, file := range examples(t) {
		want, _, _ := strings.Cut(string(file[2:]), "\n")
		if got := answer(file); got != want+"\n" {
			t.Errorf("%sexpected %s\n%s", got, want, file)
		}
	}
}

// TestChangedFiles: examples of which words are changed are read, or refused with a line; if ISOVET_KERNEL names the
// extracted kernel, it says the same of each, and reads no others.
func TestChangedFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	files := examples(t)
	extracted := os.Getenv("ISOVET_KERNEL")
	words := strings.Fields(": 0 1 2 3 7 not rup cycle source read session seen before must anti initial own saw " +
		"order counts reads takes total once committed level causal read-committed serializable w r a m pred " +
		"maybe txn init stamps early overlaps conflicts unexplained ts:serializable ts:snapshot-isolation")
	read, judged := 0, 0
	for range 3000 {
		lines := strings.Split(string(files[rng.IntN(len(files))]), "\n")
		for range 1 + rng.IntN(2) {
			i := 1 + rng.IntN(len(lines)-1)
			at := strings.Fields(lines[i])
			switch n := len(at); {
			case n == 0:
			case rng.IntN(8) == 0:
				lines[i] = lines[1+rng.IntN(len(lines)-1)]
				continue
			case rng.IntN(3) == 0:
				j := rng.IntN(n)
				at = append(at[:j], at[j+1:]...)
			default:
				at[rng.IntN(n)] = words[rng.IntN(len(words))]
			}
			lines[i] = strings.Join(at, " ")
		}
		file := strings.Join(lines, "\n")
		_, err := kernel.ReadFile(strings.NewReader(file))
		var bad *kernel.SyntaxError
		if err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.Line > len(lines)) {
			t.Fatalf("%v\n%s", err, file)
		}
		got := answer([]byte(file))
		if err == nil {
			read++
		}
		if got != "" {
			judged++
		}
		if extracted == "" || rng.IntN(4) > 0 {
			continue
		}
		cmd := exec.Command(extracted, "-")
		cmd.Stdin = strings.NewReader(file)
		out, _ := cmd.Output()
		if want := string(out); want != got && (got != "" || err != nil) {
			t.Fatalf("%q, by the extracted kernel %q (%v)\n%s", got, want, err, file)
		}
	}
	if read < 300 || judged < 300 || read > 2900 {
		t.Errorf("%d of 3000 read, %d judged", read, judged)
	}
}

// TestUnreadable: what cannot be read is told with its line.
func TestUnreadable(t *testing.T) {
	const first = "isovet-kernel 1\n"
	for _, x := range [][2]string{
		{"", "line 0: expected 'isovet-kernel 1'"},
		{"isovet-kernel 2\n", "line 1: expected 'isovet-kernel 1'"},
		{first + "\n", "line 2: the file ends without a level"},
		{first + "level ser\n", `line 2: level "ser"; expected one of the nine that are known here`},
		{first + "# c\nr 1 2\n", "line 3: an operation before any txn"},
		{first + "txn 1 done 1 0\n", "line 2: done; expected committed or unknown"},
		{first + "txn 0 committed 1 0\n", "line 2: 0; expected a number from 1 on"},
		{first + "txn 1 committed 1 x\n", "line 2: expected a number"},
		{first + "txn 999999999 committed 1 0\n", "line 2: a number too large; expected at most 134217727"},
		{first + "level causal\nlevel causal\n", "line 3: a second level"},
		{first + "level causal\ncycle must 1 2\n", `line 3: "must"; expected session, before, read or seen`},
		{first + "rup 1\n", `line 2: "1"; expected counts, before or reads`},
		{first + "rup counts 1\n", "line 2: expected ':' and the numbers of steps"},
		{first + "own 1\nlevel causal\n", `line 2: "own"; expected a statement, such as txn, r, w, order or cycle`},
		{first + "total 1 2 3\nlevel causal\n", "line 2: steps of a refutation before the level"},
		{first + "level serializable\norder 1\ntotal 1 2 3 4\n", "line 4: more than was expected on this line"},
		{first + "level serializable\norder 1\ntotal 1 2 3\n", "line 4: both an order and steps of a refutation"},
	} {
		if _, err := kernel.ReadFile(strings.NewReader(x[0])); err == nil || err.Error() != x[1] {
			t.Errorf("%q: %v, expected %s", x[0], err, x[1])
		}
	}
}

// TestManySessions: sessions may have any numbers, however few there are; at causal each has a clock.
func TestManySessions(t *testing.T) {
	const file = "isovet-kernel 1\nlevel causal\ntxn 1 committed 1 0\nw 1 1\ntxn 2 committed 2 0\nw 1 2\n" +
		"txn 3 committed %d 0\nr 1 1\norder 1 2 3\nsaw 3 1\n"
	for _, session := range []int{3, 1<<16 - 1, 98303, 1<<27 - 1} {
		if got := answer(fmt.Appendf(nil, file, session)); got != "VERIFIED valid causal\n" {
			t.Errorf("session %d: %q", session, got)
		}
	}
	if got := answer(fmt.Appendf(nil, file, 2)); got != "NOT VERIFIED valid causal: place 3\n" {
		t.Errorf("%q, of who overwrote it itself", got)
	}
}
