package watch

import (
	"context"
	"log/slog"
	"time"
)

// trouble says what is wrong with a source: once, again each minute while it lasts, and when it is over.
type trouble struct {
	log   *slog.Logger
	text  string // "": all is well
	since time.Time
	told  time.Time
	wait  time.Duration
}

// is notes an error.
func (t *trouble) is(err error, what ...any) {
	now := time.Now()
	if t.text == "" {
		t.since = now
	}
	if text := err.Error(); text != t.text || now.Sub(t.told) >= time.Minute {
		t.text, t.told = text, now
		t.log.Warn("the source fails; trying again", append(what, "error", err, "since", t.since.Round(time.Second))...)
	}
}

// over notes that it works.
func (t *trouble) over(what ...any) {
	if t.text != "" {
		t.log.Info("the source works again", append(what, "after", time.Since(t.since).Round(time.Millisecond))...)
	}
	t.text, t.wait = "", 0
}

// pause waits before the next try: longer each time, up to five seconds.
func (t *trouble) pause(ctx context.Context) error {
	t.wait = min(max(2*t.wait, 50*time.Millisecond), 5*time.Second)
	return sleep(ctx, t.wait)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// loud is a log that is there.
func loud(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
