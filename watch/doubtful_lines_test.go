package watch

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"isovet/internal/test/must"
	"isovet/level"
)

// TestReplayDoubtfulLines: replay neither accuses a correct database because of a line that it does not judge, nor
// misses a violation behind one, nor fails.
func TestReplayDoubtfulLines(t *testing.T) {
	txn := func(id, end int64, more string) string {
		return fmt.Sprintf(`{"id":%d,"session":%d,"start":%d,"end":%d,%s}`, id, id, end-5, end, more)
	}
	first := strings.Join([]string{txn(1, 10, `"ops":[["w","z",1]]`), txn(2, 10, `"ops":[["w","z",2]]`),
		txn(3, 10, `"ops":[["w","z",3]]`), txn(4, 10, `"ops":[["w","z",4]]`)}, "\n") + "\n"
	later, stale := first, "\n"+txn(7, 400, `"ops":[["r","x",2]]`)+"\n"+txn(8, 600, `"ops":[["r","x",1]]`)
	for i := int64(1); i <= 9; i++ {
		later += txn(10+i, i*20*second, `"ops":[["w","a",1]]`) + "\n"
	}
	read := "\n" + txn(22, 170*second, `"ops":[["r","x",7]]`)
	writes := first + txn(5, 200, `"ops":[["w","x",1]]`) + "\n"
	for _, c := range []struct {
		name, lines string
		attach      Attach
		level       level.Level
		violations  int
		deleted     bool // the first line
	}{
		{"an unknown outcome left the pool", txn(5, 200, `"status":"unknown","ops":[["w","x",7]]`) + "\n" + later + read,
			AttachNever, level.SessionSnapshotIsolation, 0, false},
		{"a bad line left the pool", first + `{"id":9,"start":20,"ops":[["w","x",7]]}` + "\n" + later[len(first):] + read,
			AttachNever, level.SessionSnapshotIsolation, 0, false},
		{"an aborted transaction without times is first", `{"session":9,"status":"aborted","ops":[["w","y",1]]}` + "\n" +
			txn(1, 10, `"ops":[["r","x",5]]`) + "\n" + txn(2, 20, `"ops":[["r","x",7]]`), AttachAuto,
			level.StrictSerializable, 0, false},
		{"an unknown outcome without times is first", `{"id":0,"status":"unknown","ops":[["w","x",1]]}` + "\n" +
			txn(9, 10, `"ops":[["r","x",1]]`) + "\n" + first, AttachNever, level.SessionSnapshotIsolation, 0, false},
		{"a line without end is among the first", `{"id":9,"start":1,"ops":[["w","x",2]]}` + stale[:strings.Index(stale,
			"\n{\"id\":8")], AttachNever, level.SessionSnapshotIsolation, 0, false},
		{"a place in a session occurs twice", strings.ReplaceAll(`{"id":1,S"seq":0,"start":1,"end":2,"ops":[["w","x",1]]}
{"id":2,S"seq":1,"start":3,"end":4,"ops":[["w","x",2]]}
{"id":3,S"seq":0,"start":5,"end":6,"ops":[["r","x",2]]}`, "S", `"session":1,`), AttachNever,
			level.SessionSnapshotIsolation, 0, false},
		{"an id occurs twice", writes + txn(5, 250, `"ops":[["w","x",2]]`) + stale, AttachNever,
			level.StrictSerializable, 1, false},
		{"a line ends before its start", writes + `{"id":6,"start":210,"end":150,"ops":[["w","x",2]]}` + stale,
			AttachNever, level.StrictSerializable, 1, false},
		{"a key is a list, too", writes + txn(6, 250, `"ops":[["w","x",2],["a","x",1]]`) + stale, AttachNever,
			level.StrictSerializable, 1, false},
		{"a line lacks its end", writes + `{"id":6,"session":2,"start":210,"ops":[["w","x",2]]}` + stale, AttachNever,
			level.StrictSerializable, 1, false},
		{"the initial transaction is deleted", `{"init":true,"ops":[["w","x",1]]}` + "\n" + txn(6, 250,
			`"ops":[["w","x",2]]`) + stale, AttachNever, level.StrictSerializable, 1, true},
		{"a writer is deleted", writes[len(first):] + txn(6, 250, `"ops":[["w","x",2]]`) + stale, AttachNever,
			level.StrictSerializable, 0, true},
		{"reads of what did not commit", first + txn(5, 200, `"status":"aborted","ops":[["w","x",7]]`) + "\n" +
			txn(6, 201, `"ops":[["w","y",7],["w","y",8]]`) + "\n" + txn(7, 202,
			`"status":"unknown","ops":[["r","x",1],["r","x",2],["w","u",7]]`) + "\n" + txn(9, 900,
			`"ops":[["r","x",7],["r","y",7],["r","u",7]]`), AttachAlways, level.SessionSnapshotIsolation, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := bytes.Split([]byte(c.lines), []byte("\n"))
			j := replayOf(t, ReplayOptions{Level: c.level, Lateness: 10 * second, Attach: c.attach,
				Gate: GateOptions{Once: true, MaxJump: time.Hour, Patience: time.Minute}})
			j.Begin(func(n int64) ([]byte, error) {
				if n == 0 && c.deleted {
					return nil, ErrNotKept
				}
				return lines[n], nil
			})
			for i := range lines { // the pool uses the time of arrival
				must.OK(t, j.Take(NewBatch(int64(i), lines[i:i+1]), func(int64, error) {}))
			}
			j.End()
			var found []string
			must.OK(t, j.Findings(func(f *Finding) error {
				text, err := f.Line(1)
				if f.Class == violated {
					found = append(found, string(text))
				}
				return err
			}))
			must.Equal(t, len(found), c.violations, "violations: %s", found)
		})
	}
}
