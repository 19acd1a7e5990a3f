package hunt

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/evidence"
	"isovet/level"
)

var errInvalid = errors.New("FATAL: the database has been invalidated")

// brittle is Badger, which an error breaks after so many commits: nothing answers since, until it is opened anew.
type brittle struct {
	driver.DB
	left *atomic.Int64
}

func (b *brittle) Breaks(err error) bool { return errors.Is(err, errInvalid) }

func (b *brittle) broken() error {
	if b.left.Load() < 0 {
		return errInvalid
	}
	return nil
}

func (b *brittle) Load(ctx context.Context, d driver.Data) error {
	return errors.Join(b.broken(), b.DB.Load(ctx, d))
}

func (b *brittle) Connect(ctx context.Context, node int) (driver.Session, error) {
	s, err := b.DB.Connect(ctx, node)
	return &brittleSession{s, b}, err
}

type brittleSession struct {
	driver.Session
	b *brittle
}

func (s *brittleSession) Begin() error { return errors.Join(s.b.broken(), s.Session.Begin()) }

func (s *brittleSession) Commit() error {
	if s.b.left.Add(-1) < 0 {
		return errInvalid
	}
	return s.Session.Commit()
}

// TestBroken: an error that breaks a database inside this program ends its round and not the hunt, which says so and
// goes on with the database opened anew; but not where it breaks at once each time.
func TestBroken(t *testing.T) {
	t.Parallel()
	var opened, lasts atomic.Int64
	driver.Register(driver.Scheme{Name: "brittle", URLs: []string{"brittle"}, Isolations: []string{"serializable"},
		Embedded: true}, func(ctx context.Context, _ []string, _ string, o driver.Options) (driver.DB, error) {
		opened.Add(1)
		o.Nodes = nil
		db, err := driver.Open(ctx, []string{"badger:"}, o)
		left := &atomic.Int64{}
		left.Store(lasts.Load())
		return &brittle{db, left}, err
	})
	c := Config{Config: collect.Config{DB: []string{"brittle:"}, Workload: "rmw", Txns: 50, Sessions: 4},
		Level: level.Serializable, For: 10 * time.Minute}
	lasts.Store(75)
	ctx, enough := context.WithCancel(t.Context())
	c.Told = func(r Round) {
		if r.Number >= 3 && opened.Load() >= 2 {
			enough()
		}
	}
	h, err := Run(ctx, c)
	if err != nil || h.Violated || len(h.Rounds) < 3 || len(h.Broken) < 1 || opened.Load() < 2 ||
		!strings.Contains(h.Broken[0], ": "+errInvalid.Error()) || h.Last.Verdict != evidence.Holds {
		t.Errorf("%v, opened %d times, %d rounds, broken %q; expected that it goes on", err, opened.Load(),
			len(h.Rounds), h.Broken)
	}
	for _, n := range []int64{0, -1} { // a first commit, or the load
		lasts.Store(n)
		h, err = Run(t.Context(), c)
		if !errors.Is(err, errInvalid) || len(h.Broken) != mostBroken {
			t.Errorf("%d commits: %v, broken %q; expected that it ends", n, err, h.Broken)
		}
	}
}
