package collect

import (
	"context"
	"fmt"

	"isovet/collect/driver"
)

// mostBroken is how many rounds of a hunt in a row may break the database without a commit.
const mostBroken = 3

// breaks notes whether an error has broken the database.
func (t *Target) breaks(err error) {
	if b, ok := t.db.(driver.Breaker); ok && err != nil && b.Breaks(err) {
		t.broken.Store(true)
	}
}

// fail ends the run with an error.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err == nil {
		r.err = err
	}
	r.target.breaks(err)
	r.stop.Store(true)
}

// load fills the database, which is opened anew where it is broken. No session may be open.
func (t *Target) load(ctx context.Context, d driver.Data) error {
	if t.broken.Load() {
		_ = t.db.Close() // it is broken: what it says of it is of no use
		db, err := driver.Open(ctx, t.urls, t.opt)
		if err != nil {
			return fmt.Errorf("opening it anew: %w", err)
		}
		t.db = db
		t.broken.Store(false)
	}
	err := t.db.Load(ctx, d)
	t.breaks(err)
	return err
}

// survives enters an error that has broken the database, and reports whether the hunt goes on with it opened anew.
func (h *Hunted) survives(t *Target, round, committed int, err error) bool {
	if err == nil || !t.broken.Load() {
		return false
	}
	h.Broken = append(h.Broken, fmt.Sprintf("round %d: %s", round, oneLine(err.Error())))
	if h.barren++; committed > 0 {
		h.barren = 0
	}
	return h.barren < mostBroken
}
