package randtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"isovet/internal/test/must"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long an input is cut down. Small ones take a second.
const patience = time.Minute

// found is a value in testdata/found: the seed by which the judge chooses among its variants, and the value.
type found struct {
	Seed  uint64
	Value json.RawMessage
}

// Values judges random values: those of the seeds from 0 on, n by default. T is written and read as JSON: what the
// judge looks at stands in exported fields.
//
// The first value that fails is cut down to the smallest that fails at the same line of the judge, and written to the
// folder testdata/found/TestName, whose values every run judges before all others. The failure has its text. A judge
// must pass what make could not make: a value that was cut down may be anything of its type, or, where it has a method
// Valid() bool, anything that this method takes.
func Values[T any](t *testing.T, n uint64, make func(seed uint64) T, judge func(t testing.TB, seed uint64, x T)) {
	t.Helper()
	dir := filepath.Join("testdata", "found", filepath.FromSlash(t.Name()))
	files := must.Get(filepath.Glob(filepath.Join(dir, "*.json")))(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err == nil {
			err = again(t, text, judge)
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	first, n := Range(n)
	if t.Failed() {
		t.FailNow()
	}
	for seed := first; seed < first+n; seed++ {
		x := make(seed)
		if !valid(x) {
			t.Fatalf("seed %d: a value is made that is not valid: %+v", seed, x)
		}
		err := Try(t, func(t testing.TB) { judge(t, seed, x) })
		if err == nil {
			continue
		}
		t.Fatalf("%s\n%s", report(t, dir, seed, make(seed), err, judge), Repeat(t, seed))
	}
}

func valid(x any) bool {
	v, ok := x.(interface{ Valid() bool })
	return !ok || v.Valid()
}

// again judges a value that was written.
func again[T any](t *testing.T, text []byte, judge func(t testing.TB, seed uint64, x T)) error {
	var f found
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	var x T
	if err := json.Unmarshal(f.Value, &x); err != nil {
		return err
	}
	if !valid(x) {
		return nil
	}
	return Try(t, func(t testing.TB) { judge(t, f.Seed, x) })
}

// report cuts a value down, writes it, and says so.
func report[T any](t *testing.T, dir string, seed uint64, x T, err error,
	judge func(t testing.TB, seed uint64, x T)) string {
	class := func(err error) string {
		f, _ := errors.AsType[*Failure](err)
		if f == nil {
			return ""
		}
		return f.Class
	}
	value, werr := json.Marshal(x)
	var text []byte
	if werr == nil {
		text, werr = json.Marshal(found{seed, value})
	}
	if werr == nil && class(again(t, text, judge)) != class(err) {
		werr = errors.New("it does not fail once it is written and read")
	}
	if werr != nil {
		return fmt.Sprintf("seed %d: %v\nnot cut down: %v\n%+v", seed, err, werr, x)
	}
	end := time.Now().Add(patience)
	small := shrink(value, func(value []byte) bool {
		text, err2 := json.Marshal(found{seed, value})
		return err2 == nil && time.Now().Before(end) && class(again(t, text, judge)) == class(err)
	})
	if text, werr = json.Marshal(found{seed, small}); werr == nil {
		err = again(t, text, judge)
	}
	return fmt.Sprintf("seed %d: %v\nthe smallest that fails so, %s\n%s", seed, err, Keep(dir, ".json", text), text)
}

// Keep writes an input that fails to a folder, and says where.
func Keep(dir, ending string, text []byte) string {
	sum := fnv.New32a()
	sum.Write(text)
	path := filepath.Join(dir, fmt.Sprintf("new-%08x%s", sum.Sum32(), ending))
	err := os.MkdirAll(dir, 0o755)
	if err == nil {
		err = os.WriteFile(path, text, 0o644)
	}
	if err != nil {
		return err.Error()
	}
	return "written to " + path + ": give it a name that says what is wrong"
}

// shrink returns the smallest value in reach that still fails: with fewer elements, with smaller numbers, shorter
// texts, and false in place of true.
func shrink(value []byte, fails func(value []byte) bool) []byte {
	for round := true; round; {
		round = false
		for i := 0; ; {
			next, more := change(value, i)
			if !more {
				break
			}
			if next != nil && !bytes.Equal(next, value) && fails(next) {
				value, round = next, true // the same place again
				continue
			}
			i++
		}
	}
	return value
}

// change makes the i-th change of a value; nil: that cannot be written. It returns false where there are not so many.
func change(value []byte, i int) ([]byte, bool) {
	in := json.NewDecoder(bytes.NewReader(value))
	in.UseNumber()
	var root any
	if in.Decode(&root) != nil || !walk(root, func(v any) { root = v }, &i) {
		return nil, false
	}
	out, err := json.Marshal(root)
	if err != nil {
		return nil, true
	}
	return out, true
}

// walk makes the i-th change below v, by set, and reports whether it did; else it counts i down by what it passed.
// Arrays lose half of their elements before single ones.
func walk(v any, set func(any), i *int) bool {
	try := func(to any) bool {
		if *i == 0 {
			set(to)
		}
		*i--
		return *i < 0
	}
	switch v := v.(type) {
	case []any:
		for size := len(v); size > 0; size /= 2 {
			for at := 0; at+size <= len(v); at += size {
				if try(slices.Delete(slices.Clone(v), at, at+size)) {
					return true
				}
			}
		}
		for at := range v {
			if walk(v[at], func(x any) { v[at] = x }, i) {
				return true
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if walk(v[name], func(x any) { v[name] = x }, i) {
				return true
			}
		}
	case json.Number:
		if x, err := v.Int64(); err == nil && x != 0 {
			if try(0) || x/2 != 0 && try(x/2) || x > 1 && try(x-1) || x < -1 && try(x+1) {
				return true
			}
		}
	case string:
		lines := slices.Collect(strings.Lines(v))
		if len(lines) > 1 {
			for at := range lines {
				if try(strings.Join(slices.Delete(slices.Clone(lines), at, at+1), "")) {
					return true
				}
			}
		}
	case bool:
		return v && try(false)
	}
	return false
}
