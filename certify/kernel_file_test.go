package certify_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isovet/certify/kernel"
	"isovet/internal/test/must"
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
	names, err := filepath.Glob("proofs/testdata/*.txt")
	if err != nil || len(names) < 20 {
		t.Fatal(err, names)
	}
	for _, name := range names {
		file := must.Get(os.ReadFile(name))(t)
		files = append(files, file)
	}
	return files
}

// TestKernelExamples: the first line of each example says what isovet-kernel says of it.
func TestKernelExamples(t *testing.T) {
	for _, file := range examples(t) {
		want, _, _ := strings.Cut(string(file[2:]), "\n")
		must.Equal(t, answer(file), want+"\n", "the kernel on\n%s", file)
	}
}

// TestKernelChangedFiles: examples of which words are changed are read, or refused with a line; if ISOVET_KERNEL names
// the extracted kernel, it says the same of each.
func TestKernelChangedFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	files := examples(t)
	program := os.Getenv("ISOVET_KERNEL")
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
		switch at := rng.IntN(len(file)); rng.IntN(12) {
		case 0:
			file = file[:at]
		case 1:
			file = file[:at] + string("\x00\r\x1b\xff#\t"[rng.IntN(6)]) + file[at:]
		}
		_, err := kernel.ReadFile(strings.NewReader(file))
		var bad *kernel.SyntaxError
		if err != nil && (!errors.As(err, &bad) || bad.Line < 1 || bad.Line > len(lines)) {
			t.Fatalf("%v\n%s", err, file)
		}
		got := said(file)
		if err == nil {
			read++
			if got != "" {
				judged++
			}
		}
		if program == "" || rng.IntN(4) > 0 {
			continue
		}
		want := extracted(t, program, file)
		if at, what, _ := strings.Cut(got, ": "); strings.HasPrefix(what, "the byte") {
			got, want = at, want[:min(len(at), len(want))] // what stands before it on the line may be told instead
		}
		must.Hold(t, want == got || got == "", "%q, by the extracted kernel %q\n%s", got, want, file)
	}
	must.Be(t, read >= 300 && judged >= 300 && read <= 2900, "%d of 3000 read, %d judged", read, judged)
}

// TestKernelHostile: what is no file for the kernel is refused with its line and the reason. The extracted kernel has
// the same test, in certify/proofs.
func TestKernelHostile(t *testing.T) {
	table := must.Get(os.ReadFile("proofs/testdata/hostile.tsv"))(t)
	files := 0
	for row := range strings.Lines(string(table)) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		x := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		file, err := strconv.Unquote(x[2])
		must.OK(t, err, "%v", row)
		files++
		want := x[1] + "\n"
		if x[0] != "0" {
			want = "line " + x[0] + ": " + want
		}
		must.Equal(t, said(file), want, "%s", x[2])
	}
	must.Be(t, files >= 100, "%d files", files)
}

// said is what the kernel prints of a file by the port: the answer, or why it is not read; "" where it is too much.
func said(file string) string {
	_, err := kernel.ReadFile(strings.NewReader(file))
	if err != nil {
		return err.Error() + "\n"
	}
	return answer([]byte(file))
}

// extracted is what the extracted kernel prints of a file, with the status that this has.
func extracted(t *testing.T, program, file string) string {
	t.Helper()
	cmd := exec.Command(program, "-")
	cmd.Stdin = strings.NewReader(file)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	status := 254
	switch {
	case bytes.HasPrefix(out, []byte("VERIFIED ")):
		status = 0
	case bytes.HasPrefix(out, []byte("NOT VERIFIED ")):
		status = 1
	}
	must.Equal(t, cmd.ProcessState.ExitCode(), status, "status, with %s%s", out, file)
	return string(out)
}

// TestKernelTooLarge: the port takes smaller numbers than the extracted kernel.
func TestKernelTooLarge(t *testing.T) {
	const first = "isovet-kernel 1\n"
	for _, x := range [][2]string{
		{first + "txn 134217728 committed 1 0\n", "line 2: the number is too large; expected at most 134217727"},
		{first + "init 1 4294967294\n", "line 2: the number is too large; expected at most 4294967293"},
	} {
		if _, err := kernel.ReadFile(strings.NewReader(x[0])); err == nil || err.Error() != x[1] {
			t.Errorf("%q: %v, expected %s", x[0], err, x[1])
		}
	}
	const list = first + "level read-committed\ninit 1 2 3\ntxn 1 committed 1 0\nw 1 4\norder 1\n"
	_, _, err := must.Get(kernel.ReadFile(strings.NewReader(list)))(t).Judge()
	must.Be(t, err != nil && strings.Contains(err.Error(), "key 1 holds several elements"), "%q: %v", list, err)
}

// TestKernelManySessions: sessions may have any numbers, however few there are; at causal each has a clock.
func TestKernelManySessions(t *testing.T) {
	const file = "isovet-kernel 1\nlevel causal\ntxn 1 committed 1 0\nw 1 1\ntxn 2 committed 2 0\nw 1 2\n" +
		"txn 3 committed %d 0\nr 1 1\norder 1 2 3\nsaw 3 1\n"
	for _, session := range []int{3, 1<<16 - 1, 98303, 1<<27 - 1} {
		must.Equal(t, answer(fmt.Appendf(nil, file, session)), "VERIFIED valid causal\n", "session %d", session)
	}
	must.Equal(t, answer(fmt.Appendf(nil, file, 2)), "NOT VERIFIED valid causal: place 3\n", "who overwrote it")
}

// TestKernelOpenCycles: true edges that do not join, or do not end where they began, refute nothing.
func TestKernelOpenCycles(t *testing.T) {
	h := kernel.History{}
	var edges []kernel.Edge
	for i := range uint32(4) {
		h.Txns = append(h.Txns, kernel.Txn{ID: i + 1, Session: i + 1, Committed: true, Began: uint64(2 * i),
			Ended: uint64(2*i + 1)})
		for j := range i {
			edges = append(edges, kernel.Edge{Kind: kernel.JMust, T: j + 1, U: i + 1})
		}
	}
	r, ok := kernel.NewRefuter(kernel.Level{Serial: true, RealTime: true}, &h)
	must.Hold(t, ok, "no tables")
	var tried func(way []kernel.Edge)
	tried = func(way []kernel.Edge) {
		if _, refuted := r.Refutes([]kernel.Step{{Kind: kernel.Cycle, Edges: way}}); refuted {
			t.Errorf("%v refute a history that has an order", way)
		}
		if len(way) < 3 {
			for _, e := range edges {
				tried(append(slices.Clone(way), e))
			}
		}
	}
	tried(nil)
}
