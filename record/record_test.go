package record_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"isovet/check"
	"isovet/evidence"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/record"
)

func ok() error { return nil }

// ticking is a clock that goes on by one at each look.
func ticking() func() int64 {
	var mu sync.Mutex
	n := int64(0)
	return func() int64 {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n
	}
}

// verdict checks a history as isovet check does.
func verdict(t *testing.T, h *history.History, l level.Level, want evidence.Verdict) *evidence.Result {
	t.Helper()
	c, found := check.Auto(h, l)
	if !found {
		t.Fatalf("no checker for %v", l)
	}
	r := must.Get(check.Run(context.Background(), c, h, check.Options{Level: l}))(t)
	must.Equal(t, r.Verdict, want, "at %v: %s", l, r.Reason)
	return r
}

// lines is a history as the project writes it.
func lines(t *testing.T, h *history.History) string {
	t.Helper()
	var b bytes.Buffer
	must.OK(t, jsonl.Write(&b, h))
	return b.String()
}

// TestStatuses: a commit that fails is unknown unless it surely had no effect; aborted and unknown ones keep their
// writes; nothing is taken behind the end.
func TestStatuses(t *testing.T) {
	refused, gone := errors.New("refused"), errors.New("gone")
	rec := record.New(record.Options{Aborted: func(err error) bool { return errors.Is(err, refused) }})
	s := rec.SessionOn("n1")
	for i, end := range []func(*record.Txn) error{
		func(t *record.Txn) error { return t.Commit(ok) },
		func(t *record.Txn) error { return t.Commit(func() error { return refused }) },
		func(t *record.Txn) error { return t.Commit(func() error { return gone }) },
		func(t *record.Txn) error { return t.Abort(ok) },
		func(t *record.Txn) error { return t.Commit(nil) },
		func(t *record.Txn) error { return t.Unknown() },
	} {
		x := s.Begin("w")
		must.OK(t, x.Write("k", i+1))
		if err := end(x); (err != nil) != (i == 1 || i == 2) {
			t.Errorf("end %d: %v", i, err)
		}
		for _, late := range []error{x.Write("k", 9), x.Commit(nil), x.Abort(nil), x.Committing()} {
			must.Equal(t, late == nil, false, "end %d: something behind the end is taken", i)
		}
	}
	must.Equal(t, rec.Stats(), record.Stats{Committed: 2, Aborted: 2, Unknown: 2, Ops: 6}, "the counts")
	if _, err := rec.History(); err == nil {
		t.Error("operations behind the end are forgotten")
	}
	rec = record.New(record.Options{})
	s = rec.Session()
	must.OK(t, s.Begin("not sent").Drop())
	for range 2 { // the first is not ended
		must.OK(t, s.Begin("").Write("k", 1))
	}
	h := must.Get(rec.History())(t)
	must.Equal(t, h.NumTxns() != 2 || h.Txns.Status[0] != history.Unknown || h.Txns.Status[1] != history.Unknown, false,
		"transactions that were not ended: %s", lines(t, h))
	if again, err := rec.History(); again != h || err != nil {
		t.Error("a second History is another")
	}
	if err := s.Begin("").Commit(nil); !errors.Is(err, record.ErrClosed) {
		t.Errorf("behind History: %v", err)
	}
}

type (
	id     int64
	label  string
	uuid   [16]byte
	point  struct{ X, Y int }
	deep   struct{ P point }
	closed struct{ x int }
	shown  struct{ x int }
	loop   struct{}
	bad    struct{}
)

func (u uuid) String() string                    { return fmt.Sprintf("%x-%x", u[:4], u[4:]) }
func (s shown) String() string                   { return fmt.Sprint("shown ", s.x) }
func (bad) Value() (driver.Value, error)         { panic("no value") }
func (l *loop) Value() (driver.Value, error)     { return l, nil }
func pointerTo[T any](v T) *T                    { return &v }
func text(s string) string                       { return string(history.AppendJSONString(nil, s)) }
func nullInt(n int64, valid bool) sql.NullInt64  { return sql.NullInt64{Int64: n, Valid: valid} }
func at(ns int64, zone *time.Location) time.Time { return time.Unix(0, ns).In(zone) }

// TestValues: what clients have, as the history has it; the same where it is the same to a database.
func TestValues(t *testing.T) {
	east := time.FixedZone("east", 3600)
	long := strings.Repeat("x", 2000)
	for i, c := range []struct {
		v    any
		want string
	}{
		{nil, "null"}, {7, "7"}, {int8(-7), "-7"}, {uint64(7), "7"}, {uint64(1 << 63), `"9223372036854775808"`},
		{id(7), "7"}, {label("a"), `"a"`}, {true, "true"}, {"a\"b", `"a\"b"`}, {"", `""`},
		{[]byte("ab"), `"ab"`}, {[]byte(nil), "null"}, {[]byte{}, `""`}, {[]byte{0xff, 0}, `"\\xff00"`},
		{sql.RawBytes("ab"), `"ab"`}, {2.0, "2"}, {float32(0.1), `"0.1"`}, {0.1, `"0.1"`}, {-1e300, `"-1e+300"`},
		{json.Number("12"), "12"}, {json.Number("12.0"), "12"}, {*big.NewInt(5), "5"}, {big.NewInt(5), "5"},
		{at(1, time.UTC), `"1970-01-01T00:00:00.000000001Z"`}, {at(0, east), `"1970-01-01T00:00:00Z"`},
		{nullInt(3, true), "3"}, {nullInt(3, false), "null"}, {pointerTo(nullInt(3, true)), "3"},
		{sql.Null[string]{V: "s", Valid: true}, `"s"`}, {sql.NullFloat64{Float64: 1.5, Valid: true}, `"1.5"`},
		{sql.NullTime{Time: at(0, east), Valid: true}, `"1970-01-01T00:00:00Z"`},
		{(*int)(nil), "null"}, {pointerTo(5), "5"}, {pointerTo(pointerTo("p")), `"p"`}, {(*sql.NullInt64)(nil), "null"},
		{netip.MustParseAddr("10.0.0.1"), `"10.0.0.1"`}, {uuid{1, 2}, `"01020000-` + strings.Repeat("00", 12) + `"`},
		{[2]byte{1, 2}, `"0102"`}, {point{1, 2}, `{"X":1,"Y":2}`}, {&point{1, 2}, `{"X":1,"Y":2}`},
		{map[string]any{"b": 1.5, "a": nil}, `{"a":null,"b":"1.5"}`}, {deep{point{1, 2}}, text(`{"P":{"X":1,"Y":2}}`)},
		{[]int{1, 2}, `"[1,2]"`}, {json.RawMessage(`{"b": 2, "a":"x"}`), `{"a":"x","b":2}`}, {shown{3}, `"shown 3"`},
		{long, `"sha256:…`},
	} {
		rec := record.New(record.Options{})
		x := rec.Session().Begin("")
		if err := x.Write("k", c.v); err != nil {
			t.Errorf("%d: %T: %v", i, c.v, err)
			continue
		}
		must.OK(t, x.Commit(nil))
		h := must.Get(rec.History())(t)
		got := string(h.Texts.AppendValue(nil, h.VerValue(h.Ops.Ver[0])))
		if c.v == long {
			if len(got) > 100 || !strings.HasPrefix(got, `"sha256:`) || !strings.HasSuffix(got, ` (2000 bytes)"`) {
				t.Errorf("a long text: %s", got)
			}
			continue
		}
		must.Equal(t, got, c.want, "%T %v", c.v, c.v)
	}
}

// TestRefused: what cannot be told is an error of the call, names the key and the type, and is not forgotten.
func TestRefused(t *testing.T) {
	self := &loop{}
	for _, c := range []struct {
		do   func(*record.Txn) error
		want string
	}{
		{func(x *record.Txn) error { return x.Write("k", func() {}) }, "write of key k: a func()"},
		{func(x *record.Txn) error { return x.Read("k", 1i) }, "read of key k: a complex128"},
		{func(x *record.Txn) error { return x.Write("k", make(chan int)) }, "chan int"},
		{func(x *record.Txn) error { return x.Write("k", closed{1}) }, "record_test.closed, a struct without exported"},
		{func(x *record.Txn) error { return x.Write("k", bad{}) }, "panic: no value"},
		{func(x *record.Txn) error { return x.Write("k", self) }, "contains itself"},
		{func(x *record.Txn) error { return x.Write(nil, 1) }, "as a key"},
		{func(x *record.Txn) error { return x.Write(true, 1) }, "a bool as a key"},
		{func(x *record.Txn) error { return x.Append("k", nil) }, "append of key k: a null"},
		{func(x *record.Txn) error { return x.ReadList("k", 5) }, "a int; expected a slice"},
		{func(x *record.Txn) error { return x.ReadList("k", []any{1, nil}) }, "element 1: a null"},
		{func(x *record.Txn) error { return x.Predicate(`{"v":5}`) }, `predicate.v: expected an object`},
		{func(x *record.Txn) error { return x.Predicate(`{"v":{"~":5}}`) }, `predicate.v: expected comparisons among`},
		{func(x *record.Txn) error { return x.Predicate(`{"v":{"=":1.5}}`) }, `1.5 is not a 64-bit integer`},
		{func(x *record.Txn) error { return x.Predicate(`{"v":`) }, `unexpected EOF`},
		{func(x *record.Txn) error { return x.Predicate(`{}`, record.Row{Key: 1, Old: 1i}) }, `row 1: a complex128`},
	} {
		var told error
		rec := record.New(record.Options{OnError: func(err error) { told = err }})
		x := rec.Session().Begin("")
		err := c.do(x)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("found %v; want %q", err, c.want)
			continue
		}
		must.Equal(t, told != err || rec.Err() != err, false, "%v: told %v, kept %v", err, told, rec.Err())
		must.OK(t, x.Commit(nil))
		if _, kept := rec.History(); !errors.Is(kept, err) {
			t.Errorf("%v is forgotten: %v", err, kept)
		}
	}
}

// script does one of everything.
func script(rec *record.Recorder) error {
	errs := []error{rec.Initial("x", 0), rec.Initial(5, map[string]int{"v": 1})}
	a, b := rec.SessionOn("n1"), rec.Session()
	x, y := a.Begin("one"), b.Begin("")
	x.At(level.ReadCommitted)
	errs = append(errs, x.Read("x", 0), x.Write("x", "new\n"), x.Delete(5), y.Read("x", 0), y.Append("l", 1),
		y.ReadList("l", []int{1}), y.ReadList("m", nil), x.Commit(ok), y.Abort(ok))
	x = a.Begin("two")
	x.Timestamps(5, 6)
	errs = append(errs, x.Predicate(`{"v": {"<": 9}}`, record.Row{Key: 6, Old: map[string]int{"v": 3}}),
		x.PredicateWrite(map[string]any{"v": map[string]any{"in": []int{1, 2}}},
			record.Row{Key: 6, Old: map[string]int{"v": 1}, New: nil},
			record.Row{Key: 7, Old: record.Unread, New: map[string]int{"v": 2}}), x.Unknown())
	x = a.Begin("left open")
	errs = append(errs, x.Write("z", 1))
	return errors.Join(errs...)
}

// TestSame: in memory, to a file and to a writer, the history is the same, but for the order of its lines.
func TestSame(t *testing.T) {
	si := level.SnapshotIsolation
	o := func() record.Options {
		return record.Options{Meta: history.Meta{Name: "n", DB: "d"}, Promised: &si, Seed: 7, Clock: ticking(),
			OpTimes: true}
	}
	mem := record.New(o())
	must.OK(t, script(mem))
	want := must.Get(mem.History())(t)
	if want.Meta.Isolation != "snapshot-isolation" || want.Meta.Note != "seed 7" ||
		strings.Count(lines(t, want), `"level":"read-committed"`) != 1 {
		t.Errorf("%+v\n%s", want.Meta, lines(t, want))
	}
	var out bytes.Buffer
	for name, rec := range map[string]func() (*record.Recorder, error){
		"file":   func() (*record.Recorder, error) { return record.Create(filepath.Join(t.TempDir(), "h"), o()) },
		"writer": func() (*record.Recorder, error) { return record.To(&out, o()), nil },
	} {
		r, err := rec()
		must.OK(t, err, "%s", name)
		must.OK(t, errors.Join(script(r), r.Close(), r.Close()), "%s", name)
		if _, err := r.History(); err == nil {
			t.Errorf("%s: a stream has a History", name)
		}
		var got *history.History
		if name == "file" {
			b, err2 := os.ReadFile(r.Path())
			must.OK(t, err2)
			got, err = jsonl.ReadPartial(t.Context(), b, "h", 1)
		} else {
			got, err = jsonl.Read(out.Bytes(), "h")
		}
		must.OK(t, err, "%s\n%s", name, out.Bytes())
		if len(got.Notes) > 0 {
			t.Errorf("%s: %v", name, got.Notes)
		}
		diff.Same(t, sorted(t, got), sorted(t, want), "%s", name)
	}
}

// sorted is a history with its lines in the order of their starts, without ids.
func sorted(t *testing.T, h *history.History) *history.History {
	t.Helper()
	head, rest, _ := strings.Cut(lines(t, h), "\n")
	all := strings.Split(strings.TrimSpace(rest), "\n")
	out := make([]string, 1000)
	for _, l := range all {
		var x struct{ Start int }
		must.OK(t, json.Unmarshal([]byte(l), &x))
		_, l, _ = strings.Cut(l, ",") // the id
		out[x.Start] += "{" + l + "\n"
	}
	got, err := jsonl.Read([]byte(head+"\n"+strings.Join(out, "\n")), "f")
	must.OK(t, err, "%s", strings.Join(out, "\n"))
	return got
}

// TestUndo: a rollback to a savepoint removes writes and what was read of them.
func TestUndo(t *testing.T) {
	rec := record.New(record.Options{})
	x := rec.Session().Begin("")
	must.OK(t, x.Write("a", 1))
	mark := x.Mark()
	must.OK(t, errors.Join(x.Read("a", 1), x.Write("a", 2), x.Read("a", 2), x.Read("c", 4), x.PredicateWrite(`{"v":{">":0}}`,
		record.Row{Key: "b", Old: record.Unread, New: 3}), x.Read("b", 3), x.Predicate(`{"v":{">":0}}`)))
	x.Undo(mark)
	must.OK(t, x.Commit(nil))
	got := lines(t, must.Get(rec.History())(t))
	must.Equal(t, strings.Contains(got, `"ops":[["w","a",1],["r","a",1],["r","c",4]]`), true, "%s", got)
}
