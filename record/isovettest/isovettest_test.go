package isovettest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/certify"
	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
	"isovet/record/isovettest"
)

// told is a test that is told of failures and does not fail.
type told struct {
	testing.TB
	errors, logs []string
}

func (t *told) Helper()                   {}
func (t *told) Errorf(f string, a ...any) { t.errors = append(t.errors, fmt.Sprintf(f, a...)) }
func (t *told) Logf(f string, a ...any)   { t.logs = append(t.logs, fmt.Sprintf(f, a...)) }

func ok() error { return nil }

// skewed records n transactions of which two are a write skew.
func skewed(rec *record.Recorder, n int) error {
	errs := []error{rec.Initial("x", 0), rec.Initial("y", 0)}
	s, u := rec.Session(), rec.Session()
	rnd := rand.New(rand.NewPCG(1, 2))
	last := map[int]any{}
	for i := range n {
		a := s.Begin("fill")
		k := rnd.IntN(9)
		errs = append(errs, a.Read(k, last[k]), a.Write(k, i+1), a.Commit(ok))
		last[k] = i + 1
	}
	a, b := s.Begin("one"), u.Begin("other")
	errs = append(errs, a.Read("x", 0), b.Read("x", 0), a.Read("y", 0), b.Read("y", 0), a.Write("x", 1),
		b.Write("y", 1), a.Commit(ok), b.Commit(ok))
	return errors.Join(errs...)
}

// TestCheckFails: a violation fails the test, with words, seed and artifacts that stand by themselves; the level is the
// one asked for.
func TestCheckFails(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ISOVET_ARTIFACTS", dir)
	for _, file := range []string{"", filepath.Join(dir, "h.jsonl")} {
		o := record.Options{Seed: 42}
		rec := record.New(o)
		if file != "" {
			var err error
			if rec, err = record.Create(file, o); err != nil {
				t.Fatal(err)
			}
		}
		must.OK(t, skewed(rec, 300))
		x := &told{TB: t}
		isovettest.Check(x, rec, level.Serializable)
		must.Same(t, len(x.errors), 1, "errors: %q", x.errors)
		for _, want := range []string{"303 transactions violate serializable; so do 3 of them:", "write-skew",
			"a contradiction", "ISOVET_SEED=42", "small.html", dir} {
			if !strings.Contains(x.errors[0], want) {
				t.Errorf("no %q in\n%s", want, x.errors[0])
			}
		}
		b := must.Get(os.ReadFile(filepath.Join(dir, t.Name(), "small.jsonl")))(t)
		h := must.Get(jsonl.Read(b, "small.jsonl"))(t)
		cert := must.Get(os.Open(filepath.Join(dir, t.Name(), "small.cert")))(t)
		r, err := evidence.ReadCertificate(cert, h)
		cert.Close()
		must.Hold(t, err == nil && r.Verdict == evidence.Violated && r.Level == level.Serializable, "%v: %+v", err, r)
		must.OK(t, certify.Check(r, certify.Options{}))
		page, err := os.ReadFile(filepath.Join(dir, t.Name(), "small.html"))
		must.Equal(t, err != nil || !strings.Contains(string(page), "</html>"), false,
			"%v: a page of %d bytes", err, len(page))
		x = &told{TB: t}
		isovettest.Check(x, rec, level.SnapshotIsolation)
		must.Be(t, len(x.errors) == 0 && len(x.logs) == 1 && strings.Contains(x.logs[0], "snapshot-isolation"),
			"at snapshot isolation: %q, %q", x.errors, x.logs)
	}
}

// TestOptions: what keys held before the recording can be said afterwards, and the smallest history keeps
// values where Names says so.
func TestOptions(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("ISOVET_ARTIFACTS", dir)
	for initial, wants := range map[format.InitialValue]string{"": "thin-air", "stock=7": "", "first-read": "",
		"7": "", "stock=8": "thin-air", "stock=7,stock=8": "each key once"} {
		rec := record.New(record.Options{})
		a := rec.Session().Begin("look")
		must.OK(t, errors.Join(a.Read("stock", 7), a.Write("stock", 6), a.Commit(ok)))
		x := &told{TB: t}
		isovettest.CheckWith(x, rec, isovettest.Options{Initial: initial.Apply, Names: true})
		if said := strings.Join(x.errors, "\n"); (said == "") != (wants == "") || !strings.Contains(said, wants) {
			t.Errorf("initial %q: %q; expected %q", initial, said, wants)
		}
	}
	small, err := filepath.Glob(filepath.Join(dir, "*", "small.jsonl"))
	if err != nil || len(small) == 0 {
		t.Fatal(small, err)
	}
	if text, err := os.ReadFile(small[0]); err != nil || !strings.Contains(string(text), `"stock",7`) {
		t.Errorf("%v: %s", err, text)
	}
}

// TestCheckShowsNothing: a test in which nothing was committed, or nothing is known, fails.
func TestCheckShowsNothing(t *testing.T) {
	x := &told{TB: t}
	isovettest.Check(x, record.New(record.Options{}), level.Serializable)
	must.Equal(t, len(x.errors) != 1 || !strings.Contains(x.errors[0], "no committed transaction"), false,
		"%q", x.errors)
	h := must.Get(jsonl.Read([]byte(`{"ops":[["w","x",1]]}`+"\n"), "f"))(t)
	for _, allowed := range []bool{false, true} {
		x = &told{TB: t}
		isovettest.CheckHistory(x, h, isovettest.Options{Level: level.StrictSerializable, AllowUnknown: allowed})
		said := strings.Join(append(x.errors, x.logs...), "")
		must.Equal(t, (len(x.errors) == 0) != allowed || !strings.Contains(said, "unknown"), false,
			"without times: %q, %q", x.errors, x.logs)
	}
	x = &told{TB: t}
	rec := isovettest.Recorder(x, record.Options{})
	a := rec.Session().Begin("")
	if err := errors.Join(a.Write("k", 1i)); err == nil || len(x.errors) != 1 {
		t.Errorf("%v %q", err, x.errors)
	}
	isovettest.Check(x, rec, level.Serializable)
	must.Equal(t, len(x.errors) != 2 || !strings.Contains(x.errors[1], "complex"), false, "%q", x.errors)
}

// TestRunLevel: the level is said once; others in the options do not count.
func TestRunLevel(t *testing.T) {
	rec := record.New(record.Options{})
	must.OK(t, skewed(rec, 10))
	h := must.Get(rec.History())(t)
	for l, want := range map[level.Level]evidence.Verdict{level.Serializable: evidence.Violated,
		level.SnapshotIsolation: evidence.Holds, level.StrictSnapshotIsolation: evidence.Holds} {
		for _, name := range []string{"", "auto", "vbox", "replay"} {
			r, err := isovettest.Run(context.Background(), h, isovettest.Options{Level: l, Checker: name,
				Further: check.Options{Level: level.Linearizable}})
			must.OK(t, err)
			if r.Level != l || r.Verdict != want && r.Verdict != evidence.Unknown || name == "" && r.Verdict != want {
				t.Errorf("%v by %q: %v at %v: %s", l, name, r.Verdict, r.Level, r.Reason)
			}
		}
	}
}

// TestSeed: a failing test's seed runs it again.
func TestSeed(t *testing.T) {
	x := &told{TB: t}
	a, b := isovettest.Seed(x), isovettest.Seed(x)
	must.Equal(t, a == b || a == 0 || len(x.logs) != 2 || !strings.Contains(x.logs[0], fmt.Sprint(a)), false,
		"%d, %d, %q", a, b, x.logs)
	t.Setenv("ISOVET_SEED", "42")
	must.Equal(t, isovettest.Seed(x), 42, "the seed")
}

// TestFailing is a test that fails, run by TestArtifacts with and without -artifacts.
func TestFailing(t *testing.T) {
	if os.Getenv("ISOVET_TEST_FAILING") == "" {
		t.Skip("fails, for TestArtifacts to look at")
	}
	rec := isovettest.Recorder(t, record.Options{Seed: 7, Meta: history.Meta{DB: "none"}})
	must.OK(t, skewed(rec, 5))
	isovettest.Check(t, rec, level.Serializable)
}

// TestArtifacts: the artifacts are there behind the test, where go test keeps them or where the message says.
func TestArtifacts(t *testing.T) {
	for _, flags := range [][]string{nil, {"-test.artifacts", "-test.outputdir", t.TempDir()}} {
		c := exec.Command(os.Args[0], append([]string{"-test.run", "^TestFailing$"}, flags...)...)
		c.Env = append(os.Environ(), "ISOVET_TEST_FAILING=1", "ISOVET_ARTIFACTS=", "TMPDIR="+t.TempDir())
		out, err := c.CombinedOutput()
		must.Hold(t, err != nil && strings.Contains(string(out), "ISOVET_SEED=7"), "%v: %s", err, out)
		m := regexp.MustCompile(`in (\S+): small\.jsonl`).FindSubmatch(out)
		must.Hold(t, m != nil, "no folder in %s", out)
		for _, name := range []string{"small.jsonl", "small.cert", "small.html", "whole.jsonl"} {
			if _, err := os.Stat(filepath.Join(string(m[1]), name)); err != nil {
				t.Error(err)
			}
		}
		if flags != nil && !strings.Contains(string(m[1]), "_artifacts") {
			t.Errorf("with -artifacts, in %s", m[1])
		}
	}
}
