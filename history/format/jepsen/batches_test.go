package jepsen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"isovet/history"
	"isovet/history/format/native"
	"isovet/internal/bounds"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
)

// joined is what Batches gives, as one history by way of a native file; false: it is not for this file.
func joined(t *testing.T, dir string, data []byte, o Options) (h *history.History, batches int, ok bool, err error) {
	t.Helper()
	var w *native.Writer
	positions := false
	notes, ok, err := Batches(data, "f", o, func(h *history.History) error {
		if w == nil {
			w = native.NewWriter(dir, h)
		}
		batches++
		positions = positions || h.Positions
		return w.Add(h)
	})
	if w == nil {
		return nil, 0, ok && err != nil, err
	}
	defer w.Close()
	if err != nil {
		return nil, batches, ok, err
	}
	var b bytes.Buffer
	if err := w.Finish(&b); err != nil {
		t.Fatal(err)
	}
	if h, err = native.Read(context.Background(), b.Bytes(), "f", 1); err != nil {
		t.Fatalf("%q: what the batches make: %v", data, err)
	}
	h.Notes, h.Positions = notes, positions
	return h, batches, ok, nil
}

// TestBatches: in batches of any size a file is read as at once: transactions, ids, sessions, times, lines, the order
// of keys, notes, errors.
func TestBatches(t *testing.T) {
	rnd, dir := rand.New(rand.NewPCG(21, 12)), t.TempDir()
	read, several, refused := 0, 0, 0
	for range histtest.Long(300, 100_000) {
		data := made(rnd)
		if rnd.IntN(3) > 0 {
			data = txns(rnd)
		}
		restore := []func(){bounds.Set("jepsen.batch-txns", 1+rnd.IntN(5)), bounds.Set("jepsen.batch-ops",
			1+rnd.IntN(20)), bounds.Set("jepsen.first-looks", 1<<10)}
		o := Options{RealTime: []string{"", "", "", "time", "index", "none"}[rnd.IntN(6)]}
		h, batches, ok, err := joined(t, dir, data, o)
		for _, f := range restore {
			f()
		}
		if !ok && err == nil {
			continue
		}
		want, wantErr := Read(data, "f", o)
		if _, mixed := errors.AsType[*native.MixedError](err); mixed {
			refused++
			continue // Read tells what is to be said
		}
		if fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Fatalf("%+v: %q\nbatches: %v\n   read: %v", o, data, err, wantErr)
		}
		if err != nil {
			refused++
			continue
		}
		if read++; batches > 1 {
			several++
		}
		if d := diff.Histories(want, h); d != "" {
			t.Fatalf("%+v: %q\n%s", o, data, d)
		}
		if fmt.Sprint(h.Notes) != fmt.Sprint(want.Notes) || h.Positions != want.Positions ||
			fmt.Sprint(h.Txns.Line) != fmt.Sprint(want.Txns.Line) {
			t.Fatalf("%+v: %q\nbatches: %v %v %v\n   read: %v %v %v", o, data, h.Notes, h.Positions, h.Txns.Line,
				want.Notes, want.Positions, want.Txns.Line)
		}
		for k := range want.Keys {
			if k >= h.NumKeys() { // a read that says nothing, behind all that say something
				if slices.Contains(want.VerKey, uint32(k)) || slices.Contains(want.Lists.Key, uint32(k)) {
					t.Fatalf("%q: key %d is missing", data, k)
				}
				continue
			}
			if got, want := h.KeyString(uint32(k)), want.KeyString(uint32(k)); got != want {
				t.Fatalf("%q\nkey %d: %s; at once: %s", data, k, got, want)
			}
		}
	}
	t.Logf("%d read, %d of these in several batches, %d refused", read, several, refused)
	if read < 40 || several < 40 || refused < 1 {
		t.Error("too few")
	}
}

// txns makes a file of transactions as Jepsen writes them: invocations of some processes, most of them completed.
func txns(rnd *rand.Rand) []byte {
	var b bytes.Buffer
	open := map[int]string{}
	appends, indexed, timed, now, next := rnd.IntN(2) == 0, rnd.IntN(2) == 0, rnd.IntN(3), 0, 0
	said := map[int]string{}
	line := func(kind string, p int, value string) {
		fmt.Fprintf(&b, "{:type :%s, :process %d, :f :txn, :value %s", kind, p, value)
		if now += 1 + rnd.IntN(9); timed > 0 {
			at := now
			if timed == 2 && rnd.IntN(8) == 0 {
				at -= rnd.IntN(12)
			}
			fmt.Fprintf(&b, ", :time %d", at)
		}
		if indexed {
			fmt.Fprintf(&b, ", :index %d", next)
		}
		next += 1 + rnd.IntN(2)
		b.WriteString("}\n")
	}
	for i := range 2 + rnd.IntN(80) {
		p := rnd.IntN(5)
		if _, is := open[p]; !is {
			ops := ""
			for range 1 + rnd.IntN(3) {
				k := rnd.IntN(4)
				switch {
				case rnd.IntN(2) == 0:
					ops += fmt.Sprintf("[:r %d nil] ", k)
				case appends:
					ops += fmt.Sprintf("[:append %d %d] ", k, i)
					said[k] += fmt.Sprint(" ", i)
				default:
					ops += fmt.Sprintf("[:w %d %d] ", k, i)
				}
			}
			open[p] = "[" + ops + "]"
			line("invoke", p, open[p])
			continue
		}
		value := open[p]
		if appends {
			for k := range 4 {
				value = string(bytes.ReplaceAll([]byte(value), fmt.Appendf(nil, "[:r %d nil]", k),
					fmt.Appendf(nil, "[:r %d [%s]]", k, said[k])))
			}
		}
		line([]string{"ok", "ok", "ok", "fail", "info"}[rnd.IntN(5)], p, value)
		delete(open, p)
	}
	return b.Bytes()
}
