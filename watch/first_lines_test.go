package watch

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/check/timestamp"
	"isovet/internal/bounds"
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
	midst := []string{txn(1, 1000, 1001, `["w","z",1]`), txn(2, 1030, 1031, `["r","x",7]`), txn(3, 1040, 1041,
		`["w","z",2]`), txn(4, 1060, 1061, `["r","x",8]`), txn(5, 1200, 1201, `["w","z",3]`)} // 1050: 8, which was lost
	gate := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Second, Hash: hashes}
	for _, c := range []struct {
		name  string
		judge func() Judge
		lines []string
		bad   int
	}{
		{"an initial transaction in pieces, behind which the first lines are let go", func() Judge {
			return aionWith(t, AionOptions{Options: si, Lateness: 5, Gate: gate, Bounds: Bounds{Memory: 1 << 30,
				Dir: filepath.Join(t.TempDir(), "keys")}})
		}, pieces, 0},
		{"reads of the last of many doubtful writes", func() Judge { return aionOf(si, 5) }, append(doubtful,
			txn(20, 100, 101, `["r","x9",1]`), txn(21, 102, 103, `["r","x10",1]`)), 11},
		{"from the midst, by client times", func() Judge {
			return must.Get(NewLeopard(LeopardOptions{Profile: profileOf(t, "postgresql:repeatable-read"),
				Lateness: 100, Attach: AttachAuto, Gate: gate}))(t)
		}, midst, 0},
	} {
		for _, most := range []int{1, 100} {
			j, bad := c.judge(), 0
			j.Begin(func(n int64) ([]byte, error) { return []byte(c.lines[n]), nil })
			for at := 0; at < len(c.lines); at += most {
				j.Clock(1e18 + int64(at)*second)
				var b [][]byte
				for _, l := range c.lines[at:min(at+most, len(c.lines))] {
					b = append(b, []byte(l))
				}
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
