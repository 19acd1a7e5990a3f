package proofs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"isovet/internal/test/must"
)

// Nothing may be left unproven or be assumed: what would say so is looked for in the text, comments left out. The
// makefile asks Coq the same for each theorem.
func TestNothingIsAssumed(t *testing.T) {
	files, err := filepath.Glob("*.v")
	must.Hold(t, err == nil && len(files) >= 10, "%d files of proofs (%v); expected ten at least", len(files), err)
	comment := regexp.MustCompile(`(?s)\(\*.*?\*\)`)
	open := regexp.MustCompile(`\b(Admitted|admit|Axiom|Axioms|Parameter|Parameters|Conjecture|Abort|bypass_check)\b`)
	lines := 0
	// outside a section these would be axioms too
	local := regexp.MustCompile(`(?m)^(Variable|Variables|Hypothesis|Hypotheses|Context)\b`)
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		text = comment.ReplaceAll(text, nil)
		for l := range bytes.Lines(text) {
			if len(bytes.TrimSpace(l)) > 0 {
				lines++
			}
		}
		for _, bad := range []*regexp.Regexp{open, local} {
			if m := bad.Find(text); m != nil {
				t.Errorf("%s has %q", f, m)
			}
		}
	}
	must.Be(t, lines <= 4000, "%d lines of proofs; expected 4,000 at most", lines)
}

var built = sync.OnceValues(build)

// kernel is the kernel's program, built once, all proofs checked. That takes 15 s of a core, so tests that need it are
// skipped without ISOVET_PROOFS=1; with it, what is missing is a failure. In a folder ISOVET_PROOFS_DIR it stays.
func kernel(t *testing.T) string {
	t.Helper()
	if os.Getenv("ISOVET_PROOFS") != "1" {
		t.Skip("the proofs are checked with ISOVET_PROOFS=1 (and by make proofs)")
	}
	dir := must.Get(built())(t)
	return filepath.Join(dir, "isovet-kernel")
}

func build() (string, error) {
	for _, program := range []string{"coqc", "ocamlfind", "make"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", fmt.Errorf("%w (Debian: coq, ocaml-nox, ocaml-findlib, make)", err)
		}
	}
	dir, err := os.Getenv("ISOVET_PROOFS_DIR"), error(nil)
	if dir == "" {
		dir, err = os.MkdirTemp("", "isovet-proofs")
	}
	if err != nil {
		return "", err
	}
	files, _ := filepath.Glob("*.v")
	for _, f := range append(files, "main.ml", "Makefile") {
		text, err := os.ReadFile(f)
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, f), text, 0o644); err != nil {
			return "", err
		}
	}
	if out, err := exec.Command("make", "-C", dir).CombinedOutput(); err != nil {
		return "", fmt.Errorf("make: %w\n%s", err, out)
	}
	return dir, nil
}

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv("ISOVET_PROOFS") == "1" && os.Getenv("ISOVET_PROOFS_DIR") == "" {
		if dir, err := built(); err == nil {
			os.RemoveAll(dir)
		}
	}
	os.Exit(code)
}

// The first line of each file in testdata says what the kernel answers.
func TestKernel(t *testing.T) {
	program := kernel(t)
	files, _ := filepath.Glob("testdata/*.txt")
	must.Hold(t, len(files) >= 10, "%d examples; expected ten at least", len(files))
	for _, f := range files {
		text := must.Get(os.ReadFile(f))(t)
		first, _, _ := bytes.Cut(text, []byte("\n"))
		want := strings.TrimPrefix(string(first), "# ")
		status := 0
		if strings.HasPrefix(want, "NOT ") {
			status = 1
		}
		got, code := run(t, program, f)
		must.Be(t, got == want && code == status, "%s: %q, status %d; expected %q, %d", f, got, code, want, status)
	}
}

// TestHostile: what is no file for the kernel is an error with its line, with status 254; the port has the same test,
// in certify/kernel.
func TestHostile(t *testing.T) {
	program := kernel(t)
	table := must.Get(os.ReadFile("testdata/hostile.tsv"))(t)
	f := filepath.Join(t.TempDir(), "hostile.txt")
	files := 0
	for row := range strings.Lines(string(table)) {
		if strings.HasPrefix(row, "#") {
			continue
		}
		x := strings.Split(strings.TrimSuffix(row, "\n"), "\t")
		text, err := strconv.Unquote(x[2])
		must.OK(t, err, "%v", row)
		files++
		want, status := x[1], 0
		switch {
		case x[0] != "0":
			want, status = "line "+x[0]+": "+want, 254
		case strings.HasPrefix(want, "NOT "):
			status = 1
		}
		must.OK(t, os.WriteFile(f, []byte(text), 0o644))
		if got, code := run(t, program, f); got != want || code != status {
			t.Errorf("%s: %q, status %d; expected %q, %d", x[2], got, code, want, status)
		}
	}
	must.Be(t, files >= 100, "%d files", files)
	if got, code := run(t, program, t.TempDir()); code != 254 {
		t.Errorf("a folder: %q, status %d; expected 254", got, code)
	}
}

func run(t *testing.T, program, file string) (string, int) {
	t.Helper()
	out, err := exec.Command(program, file).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code := 0
	if exit != nil {
		code = exit.ExitCode()
	}
	return strings.TrimSpace(string(out)), code
}
