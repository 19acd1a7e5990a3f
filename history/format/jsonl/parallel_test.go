package jsonl

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"isovet/history"
)

// An error in a later piece carries the line of the whole file; of several errors the first in the file is reported.
func TestParallelErrors(t *testing.T) {
	line := `{"session":1,"ops":[["r",1,2],["w",1,1000000]]}` + "\n"
	n := 3 * minPiece / len(line)
	for _, bad := range [][]int{{0}, {n - 1}, {n / 2}, {n / 3, n - 2}, {5, n / 2, n - 1}} {
		lines := make([]string, n)
		for i := range lines {
			lines[i] = line
		}
		for _, i := range bad {
			lines[i] = `{"session":1,"ops":[["r",1,2.5]]}` + "\n"
		}
		_, err := ReadParallel(t.Context(), []byte(strings.Join(lines, "")), "f", 3)
		want := fmt.Sprintf(`f:%d: field "ops[0][2]": the number 2.5; expected an integer`, bad[0]+1)
		if err == nil || err.Error() != want {
			t.Errorf("bad lines %v: got %v; want %s", bad, err, want)
		}
	}
	// What Build finds has the right line too.
	doc := strings.Repeat(line, n) + `{"id":7,"session":2,"ops":[]}` + "\n"
	_, err := ReadParallel(t.Context(), []byte(doc), "f", 3)
	in, ok := errors.AsType[*history.InputError](err)
	if !ok || in.Line != n+1 || in.Field != "id" {
		t.Errorf("got %v; want an error about id in line %d", err, n+1)
	}
}

func TestCancel(t *testing.T) {
	doc := []byte(strings.Repeat(`{"ops":[["r",1,2]]}`+"\n", 5000))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, read := range map[string]func() (*history.History, error){
		"parallel": func() (*history.History, error) { return ReadParallel(ctx, doc, "f", 2) },
		"stream":   func() (*history.History, error) { return ReadFrom(ctx, strings.NewReader(string(doc)), "f") },
	} {
		if _, err := read(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reader that fails in the middle is an error with the line reached, not a shorter history.
func TestStreamError(t *testing.T) {
	doc := strings.Repeat(`{"ops":[["r",1,2]]}`+"\n", 100)
	_, err := ReadFrom(t.Context(), &failing{doc}, "f")
	if _, ok := errors.AsType[*history.InputError](err); !ok || !strings.Contains(err.Error(), "broken in the middle") {
		t.Errorf("got %v", err)
	}
}

type failing struct{ rest string }

func (f *failing) Read(b []byte) (int, error) {
	n := copy(b, f.rest)
	f.rest = f.rest[n:]
	if f.rest == "" {
		return n, errors.New("broken in the middle")
	}
	return n, nil
}
