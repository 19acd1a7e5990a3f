package watch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/internal/bounds"
	"isovet/internal/slice"
	"isovet/internal/test/must"
	"isovet/level"
)

// TestRight: nobody is accused of what streams of a database that is right show, in one batch, or a line a second.
func TestRight(t *testing.T) {
	defer bounds.Set("watch.pieceKeys", 1)()
	defer bounds.Set("watch.maxLost", 4)()
	txn := func(n, start, end int, ops string) string {
		return fmt.Sprintf(`{"id":%d,"session":%[1]d,"start":%d,"end":%d,"start_ts":%[2]d,"commit_ts":%[3]d,"ops":[%s]}`,
			n, start, end, ops)
	}
	pieces := []string{`{"id":0,"init":true,"ops":[["a","x",1],["a","y",1]]}`}
	var doubtful []string
	for i := range 11 {
		pieces = append(pieces, txn(1+i, 10+10*i, 15+10*i, `["r","x",[1]],["r","y",[1]]`))
		doubtful = append(doubtful, txn(i, 10+i, 11+i, fmt.Sprintf(`["w","x%d",1],["?"]`, i)))
	}
	midst := []string{txn(1, 1000, 1001, `["w","z",1],["w","y",1]`), txn(2, 1030, 1031, `["r","x",7]`), txn(3, 1040,
		1041, `["w","z",2]`), txn(4, 1060, 1061, `["r","x",8],["r","y",null]`), // 1050: x = 8 and no y, which was lost
		txn(5, 1200, 1201, `["w","z",3],["r","y",null]`)}
	unknown := func(n, start int, ops string) string {
		return fmt.Sprintf(`{"id":%d,"session":%[1]d,"start":%d,"status":"unknown","ops":[%s]}`, n, start, ops)
	}
	var open []string
	for i := range 80 {
		open = append(open, unknown(i, 1000+i, fmt.Sprintf(`["w","x",%d]`, i)))
	}
	gate := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute, Hash: hashes}
	leopard := func() Judge {
		return must.Get(NewLeopard(LeopardOptions{Profile: profileOf(t, "postgresql:repeatable-read"), Lateness: 100,
			Attach: AttachAuto, Gate: gate}))(t)
	}
	replay := func(l level.Level, horizon int, attach Attach) func() Judge {
		return func() Judge {
			return replayOf(t, ReplayOptions{Level: l, Lateness: 40, Horizon: horizon, Attach: attach, Gate: gate})
		}
	}
	deleted := []string{txn(1, 10, 11, `["w","x",1]`), txn(2, 12, 13, `["w","x",null]`), txn(3, 14, 15, `["w","x",2]`),
		txn(4, 18, 19, `["r","x",null]`), txn(5, 60, 61, `["w","z",1]`), txn(6, 160, 161, `["w","z",2]`)}
	for _, c := range []struct {
		name  string
		judge func() Judge
		lines []string
		bad   int
		lost  bool
	}{
		{"an initial transaction in pieces, behind which the first lines are let go", func() Judge {
			return aionWith(t, AionOptions{Options: si, Lateness: 5, Gate: gate, Bounds: Bounds{Memory: 1 << 30,
				Dir: filepath.Join(t.TempDir(), "keys")}})
		}, pieces, 0, false},
		{"reads of the last of many doubtful writes", func() Judge { return aionOf(si, 5) }, append(doubtful,
			txn(20, 100, 101, `["r","x9",1]`), txn(21, 102, 103, `["r","x10",1]`)), 11, false},
		{"from the midst, by client times", leopard, midst, 0, false},
		{"a write of unknown outcome that many followed", leopard, append(open, txn(90, 1100, 1101, `["r","x",3]`)), 0,
			false},
		{"after lost lines, by client times", leopard, deleted, 0, true},
		{"after lost lines, by order", replay(level.StrictSerializable, 0, AttachNever),
			append(deleted[:1:1], deleted[3:]...), 0, true},
		{"after lost lines, by timestamps", func() Judge { return aionOf(si, 5) }, deleted, 0, true},
		{"a delete that comes late", func() Judge {
			return aionWith(t, AionOptions{Options: si, Lateness: 5, Gate: gate})
		}, append(deleted, txn(7, 16, 17, `["w","x",null]`)), 0, false},
		{"a delete that comes late, by client times", leopard, slices.Concat(deleted[:1], deleted[3:],
			[]string{txn(8, 170, 171, `["w","z",3]`), txn(7, 16, 17, `["w","x",null]`)}), 0, false},
		{"a delete that comes late, by order", replay(level.StrictSerializable, 0, AttachNever),
			slices.Concat(deleted[:1], deleted[3:], []string{txn(7, 16, 17, `["w","x",null]`)}), 0, false},
		{"a delete that takes long, by order", replay(level.StrictSerializable, 0, AttachNever),
			slices.Concat(deleted[:1], deleted[3:], []string{txn(7, 16, 200, `["w","x",null]`)}), 0, false},
		{"from the midst: a lost write while a forgotten one ran", replay(level.StrictSerializable, 1, AttachAuto),
			[]string{txn(1, 99, 100, `["w","z",1]`), txn(2, 110, 150, `["w","x",1]`), txn(3, 151, 152, `["w","z",2]`),
				txn(4, 200, 201, `["r","x",2]`), txn(5, 300, 301, `["w","z",3]`)}, 0, false}, // 120 to 130: x = 2
		{"from the midst: a read while a forgotten write ran", replay(level.StrictSerializable, 1, AttachAuto),
			[]string{txn(1, 99, 100, `["w","z",1]`), txn(2, 150, 155, `["w","x",1]`), txn(3, 156, 157, `["w","z",2]`),
				txn(4, 145, 170, `["r","x",7]`), txn(5, 300, 301, `["w","z",3]`)}, 0, false},
		{"from the midst: a transaction of unknown outcome that began before",
			replay(level.StrictSnapshotIsolation, 0, AttachAuto), []string{txn(1, 99, 100, `["w","z",1]`),
				unknown(2, 90, `["r","x",7],["w","y",5]`), txn(3, 150, 151, `["r","x",8],["r","y",4]`),
				txn(4, 160, 161, `["r","y",5]`), txn(5, 300, 301, `["w","z",3]`)}, 0, false},
	} {
		for _, most := range []int{1, 100} {
			j, bad := c.judge(), 0
			j.Begin(func(n int64) ([]byte, error) { return []byte(c.lines[n]), nil })
			if c.lost {
				j.Lost()
			}
			for at := 0; at < len(c.lines); at += most {
				j.Clock(1e18 + int64(at)*second)
				b := slice.Map(c.lines[at:min(at+most, len(c.lines))], func(l string) []byte { return []byte(l) })
				must.OK(t, j.Take(NewBatch(int64(at), b), func(int64, error) { bad++ }))
			}
			j.End()
			must.OK(t, j.Findings(func(f *Finding) error {
				line, err := f.Line(1)
				if !f.Unjudged {
					t.Errorf("%s, %d at a time: %s", c.name, most, line)
				}
				return err
			}))
			must.Equal(t, bad, c.bad, "%s: bad lines", c.name)
			var s Snapshot
			j.Stats(&s)
			must.Be(t, s.More[0].Name != "versions" || s.More[0].N < 70, "%s: %d versions", c.name, s.More[0].N)
		}
	}
}

// TestUntimedFirst: first lines without times are refused after a while, not only when no more come.
func TestUntimedFirst(t *testing.T) {
	j, bad := replayOf(t, ReplayOptions{Level: level.StrictSerializable, Gate: GateOptions{MaxJump: time.Minute}}), 0
	var lines [][]byte
	for range maxHeld {
		lines = append(lines, []byte(`{"start_ts":1,"commit_ts":2,"ops":[]}`))
	}
	must.OK(t, j.Take(NewBatch(0, lines), func(int64, error) { bad++ }))
	must.Equal(t, bad, maxHeld, "refused")
}

// TestAccused: what is wrong at the serializable levels is told when no more lines come, at once or after the patience.
func TestAccused(t *testing.T) {
	for _, c := range []struct {
		name  string
		start bool
		lines []string
	}{
		{"the last transaction only reads", false, []string{`1,2:["w","x",1]`, `3,4:["w","x",2]`, `5,6:["r","x",1]`}},
		{"a writer began before the watermark, and committed after it", true, []string{`50,51:["r","x",9]`,
			`60,61:["w","y",1]`, `62,63:["w","y",2]`, `40,100:["w","x",9]`}},
	} {
		j := aionWith(t, AionOptions{Options: timestamp.Options{Level: level.Serializable, ReadOnlyAtStart: c.start},
			Lateness: 5, Gate: GateOptions{Patience: time.Minute}})
		j.Clock(1e18)
		for i, l := range c.lines {
			at, ops, _ := strings.Cut(l, ":")
			start, commit, _ := strings.Cut(at, ",")
			line := fmt.Appendf(nil, `{"id":%d,"start_ts":%s,"commit_ts":%s,"ops":[%s]}`, i, start, commit, ops)
			must.OK(t, j.Take(NewBatch(int64(i), [][]byte{line}), nil))
		}
		mark, _ := j.Quiet()
		j.Advance(mark)
		j.Clock(2e18)
		n := 0
		must.OK(t, j.Findings(func(f *Finding) error {
			if !f.Unjudged {
				n++
			}
			return nil
		}))
		must.Equal(t, n, 1, "%s: findings", c.name)
	}
}
