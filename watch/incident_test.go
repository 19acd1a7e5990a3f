package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// TestIncidents: those of a watch have every violation once, each by kind and key; a restart from a checkpoint has the
// same.
func TestIncidents(t *testing.T) {
	_, lines := arrivals(t, 1, 1500)
	for _, cut := range []int{len(lines), 700} {
		dir := t.TempDir()
		var all Incidents
		for _, end := range []int{cut, len(lines)} {
			var m Metrics
			err := Run(t.Context(), Config{Dir: dir, Judge: aionOf(si, 400), Metrics: &m, Incidents: &all,
				Checkpoint: 1 << 60, Open: func(_ context.Context, after Places) (Source, error) {
					return Pipe(bytes.NewReader(join(lines[after.Last()+1:end])), after.Last()), nil
				}})
			must.OK(t, err)
			count, found := map[string]int64{}, int64(0)
			for _, x := range all.List() {
				count[x.Class] += x.Count
				found += x.Count
				if len(x.Lines) != min(int(x.Count), incidentLines) || x.LastN < x.FirstN || x.Keys > x.Count {
					t.Errorf("%+v", x)
				}
			}
			for class, n := range m.Get().Violations {
				must.Equal(t, count[class], n, "%s: violations in incidents, and by the metrics", class)
			}
			if n := int64(len(all.List())); n < 4 || n > found/4 {
				t.Errorf("%d incidents of %d violations", n, found)
			}
		}
	}
}

// TestDistinct counts.
func TestDistinct(t *testing.T) {
	for _, n := range []int{0, 1, 255, 256, 257, 1000, 3000, 20_000, histtest.Long(60_000, 1_000_000)} {
		var d distinct
		rng := rand.New(rand.NewPCG(uint64(n), 1))
		var hashes []uint64
		for range n {
			hashes = append(hashes, rng.Uint64())
		}
		for _, h := range slices.Concat(hashes, hashes[:n/2]) {
			d.add(h)
		}
		got := d.count()
		off := float64(got)/float64(max(n, 1)) - 1
		if n <= 256 && got != int64(n) || n > 256 && (off > 0.12 || off < -0.12) {
			t.Errorf("%d different ones are counted as %d", n, got)
		}
	}
}

// TestKeyOrder: numbers before others, by their value.
func TestKeyOrder(t *testing.T) {
	keys := []string{`-3`, `2`, `10`, `"10"`, `"a"`, `"b"`, `[1]`}
	for i := range keys {
		for j := range keys {
			must.Equal(t, lessKey(keys[i], keys[j]), i < j, "%v, %v", keys[i], keys[j])
		}
	}
}

// quietly is a player whose waits pass at once, for half an hour.
type quietly struct {
	player
	waits []time.Duration
	busy  time.Duration // of the watch with the first line
}

func (q *quietly) Done() error {
	q.now, q.busy = q.now.Add(q.busy), 0
	return nil
}

func (q *quietly) Next(ctx context.Context, _ int) ([]Line, error) {
	at, _ := ctx.Deadline()
	q.waits = append(q.waits, time.Until(at))
	if lines, err := q.player.Next(ctx, 1); err == nil {
		return lines, nil
	}
	if q.now = q.now.Add(max(time.Until(at), time.Millisecond)); q.now.Before(time.Unix(1800, 0)) {
		return nil, context.DeadlineExceeded
	}
	return nil, io.EOF
}

// TestQuiet: an incident ends though no lines come; and the time for which the disk is full, or the watch has too much
// to do, is none without arrivals.
func TestQuiet(t *testing.T) {
	q := &quietly{player: player{now: time.Unix(1, 0), every: time.Millisecond, most: 1}, busy: time.Minute}
	for i, op := range []string{`["w","x",1]`, `["w","x",2]`, `["r","x",1]`, `["r","x",2]`} {
		q.lines = append(q.lines, fmt.Sprintf(`{"start_ts":%d,"commit_ts":%d,"ops":[%s]}`, 10*i, 10*i+1, op))
	}
	full := true
	var all Incidents
	err := Run(t.Context(), Config{Dir: t.TempDir(), Now: q.clock, Idle: 5 * time.Second, Incidents: &all,
		Judge: aionWith(t, AionOptions{Options: si, Gate: GateOptions{Patience: time.Second}}),
		Open:  func(context.Context, Places) (Source, error) { return q, nil },
		disk: func() error {
			if !full || len(q.lines) == 4 {
				return nil
			}
			full, q.now = false, q.now.Add(time.Minute)
			return syscall.ENOSPC
		}})
	must.OK(t, err)
	must.Equal(t, len(all.List()) == 1 && !all.List()[0].Open, true, "one incident, and it is over: %+v", all.List())
	must.Equal(t, q.waits[1] > time.Second/2, true, "waits after a full disk: %v", q.waits[1])
}
