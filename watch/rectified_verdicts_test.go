package watch

import (
	"testing"
	"time"

	"isovet/internal/test/must"
)

// TestRectified: for how long a read was wrong whose writer came later is measured, also behind a restart; a read that
// was never wrong, or stays wrong, is not counted. (AION, Figure 13b.)
func TestRectified(t *testing.T) {
	o := AionOptions{Options: si, Lateness: 1000}
	now := time.Unix(1e9, 0)
	clocked := func(j *aion) *aion {
		j.p.turned.now = func() time.Time { return now }
		return j
	}
	at := int64(0)
	play := func(j *aion, line string, later time.Duration) {
		now = now.Add(later)
		must.OK(t, j.Take(NewBatch(at, [][]byte{[]byte(line + "\n")}), func(_ int64, err error) {
			t.Error(err)
		}))
		at++
	}
	j := clocked(aionWith(t, o))
	j.Begin(nil)
	play(j, `{"id":1,"session":0,"start_ts":10,"commit_ts":11,"ops":[["w","x",1]]}`, 0)
	play(j, `{"id":2,"session":1,"start_ts":20,"commit_ts":20,"ops":[["r","x",1]]}`, time.Second)
	play(j, `{"id":3,"session":2,"start_ts":30,"commit_ts":30,"ops":[["r","x",2],["r","y",9]]}`, time.Second)
	play(j, `{"id":4,"session":3,"start_ts":24,"commit_ts":25,"ops":[["w","x",2]]}`, 7*time.Millisecond)
	var s Snapshot
	j.Stats(&s)
	if r := s.Rectified; r.All != 1 || r.Sum != 7*time.Millisecond || r.Counts[2] != 0 || r.Counts[3] != 1 ||
		r.Counts[len(r.Counts)-1] != 1 {
		t.Errorf("%+v", r)
	}
	cp := t.TempDir()
	must.OK(t, j.Checkpoint(cp))
	j = aionWith(t, o)
	j.Begin(nil)
	must.OK(t, j.Restore(cp))
	clocked(j)
	play(j, `{"id":5,"session":4,"start_ts":40,"commit_ts":40,"ops":[["r","x",3]]}`, time.Second)
	play(j, `{"id":6,"session":5,"start_ts":34,"commit_ts":35,"ops":[["w","x",3]]}`, 40*time.Second)
	s = Snapshot{}
	j.Stats(&s)
	if r := s.Rectified; r.All != 1 || r.Sum != 40*time.Second || r.Counts[len(r.Counts)-2] != 0 {
		t.Errorf("after a restart: %+v", r)
	}
	// Many that are wrong are sampled, and those that stay wrong take no memory for good.
	r := rectified{now: time.Now}
	for n := range int64(20 * followMost) {
		r.follow(n, 0, false)
	}
	must.Equal(t, len(r.wrong) > followMost, false, "%d reads are followed", len(r.wrong))
}
