package room

import (
	"errors"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"isovet/internal/test/must"
)

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		live     uint64
		gc, user float64
		want     int
	}{{1 << 20, 0, 1, smallPercent}, {12 << 20, 0, 1, 100}, {16 << 20, 0, 1, 50}, {40 << 20, 0, 1, 50},
		{100 << 20, 0.01, 1, 25}, {1 << 30, 0.01, 1, 10}, {1 << 30, 0.2, 1, 50}, {0, 0, 0, smallPercent}} {
		must.Equal(t, percent(c.live, c.gc, c.user), c.want, "%+v", c)
	}
}

// TestFrugal: a large heap is collected sooner, and a small one that is left of it as a small one again.
func TestFrugal(t *testing.T) {
	old := debug.SetGCPercent(usualPercent)
	defer debug.SetGCPercent(old)
	Frugal()
	large := make([]byte, 300<<20)
	becomes := func(want int64) {
		t.Helper()
		for range 500 {
			runtime.GC()
			if now.Load() == want {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%d percent; want %d", now.Load(), want)
	}
	if len(large) > 0 {
		becomes(10)
	}
	runtime.KeepAlive(large)
	large = nil
	becomes(smallPercent)
}

// TestFix: what is measured at a percentage is collected at that, whatever Frugal would have.
func TestFix(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	usual := Fix(7)
	tune()
	must.Equal(t, debug.SetGCPercent(7), 7, "the percentage")
	usual()
	if got := debug.SetGCPercent(100); got != 100 || fixed.Load() {
		t.Errorf("afterwards the percentage is %d", got)
	}
}

// TestLeft comes last: with a limit of one byte the collector takes what TestFrugal measures.
func TestLeft(t *testing.T) {
	old := debug.SetMemoryLimit(math.MaxInt64)
	defer debug.SetMemoryLimit(old)
	if Left() != math.MaxInt64 || For(1e18) != nil {
		t.Errorf("without a limit %d bytes are left", Left())
	}
	debug.SetMemoryLimit(1 << 30)
	before := Left()
	must.Be(t, before > 0 && before <= 1<<30, "%d bytes of 1 GiB are left", before)
	keep := make([]byte, 64<<20)
	if after := Left(); after > before-60<<20 {
		t.Errorf("%d bytes are left, %d before 64 MiB were taken", after, before)
	}
	keep[0] = 1
	var short *ShortError
	if err := For(27e9); !errors.As(err, &short) || !strings.HasPrefix(err.Error(), "needs about 25.1 GiB of "+
		"memory, and ") {
		t.Error(err)
	}
	must.OK(t, For(1<<20))
	debug.SetMemoryLimit(1)
	must.Equal(t, Left(), 0, "bytes left")
}
