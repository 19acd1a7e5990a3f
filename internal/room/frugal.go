package room

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// usualPercent is the garbage, in per cent of the live heap, that a heap may have before a collection, unless it is
// small or large.
const usualPercent = 50

// smallHeap is the heap size up to which no garbage is collected, since a collection would cost more than it frees. In
// a check of 10,000 transactions six such collections took a third of the processor time.
const smallHeap = 24 << 20

// smallPercent makes the runtime collect nothing up to smallHeap: 100 per cent means up to 4 MiB, other values are
// proportional.
const smallPercent = 100 * smallHeap / (4 << 20)

// Frugal reduces the garbage in this process's heap: the larger the heap, the less garbage, while a small heap is not
// collected. Histories are a few large slices without pointers, so that collecting a gigabyte takes about a
// millisecond. If collections take a noticeable part of the time, the usual percentage applies. Cost: some
// microseconds a collection.
func Frugal() {
	debug.SetGCPercent(smallPercent)
	now.Store(smallPercent)
	tuned.Do(afterNext)
}

// now is the percentage that is set; tuned starts the tuning once.
var (
	now   atomic.Int64
	tuned sync.Once
)

// afterNext calls tune after each collection: the finalizer of an unused object runs then.
func afterNext() {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		tune()
		afterNext()
	})
}

// sentinel is too large for the runtime's allocator of tiny objects, which would delay the finalizer.
type sentinel struct{ _ [4]*byte }

// fixed says that Fix has set the percentage.
var fixed atomic.Bool

// Fix sets the percentage for measurements that vary it. It stays until usual is called.
func Fix(percent int) (usual func()) {
	fixed.Store(true)
	old := debug.SetGCPercent(percent)
	return func() {
		debug.SetGCPercent(old)
		fixed.Store(false)
	}
}

func tune() {
	if fixed.Load() {
		return
	}
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/cpu/classes/gc/mark/assist:cpu-seconds"},
		{Name: "/cpu/classes/gc/mark/dedicated:cpu-seconds"}, {Name: "/cpu/classes/user:cpu-seconds"}}
	metrics.Read(s)
	gc := s[1].Value.Float64() + s[2].Value.Float64() // what idle cores do of it costs nobody anything
	if p := percent(s[0].Value.Uint64(), gc, s[3].Value.Float64()); now.Swap(int64(p)) != int64(p) {
		debug.SetGCPercent(p)
	}
}

// percent returns how much garbage the heap may have for so many live bytes. gc and user are the seconds that
// collections and all else took.
func percent(live uint64, gc, user float64) int {
	switch {
	case live < smallHeap*100/(100+usualPercent):
		return int(min((smallHeap-live)*100/max(live, 1), smallPercent))
	case live < 64<<20 || gc > (gc+user)/16:
		return usualPercent
	case live < 256<<20:
		return 25
	}
	return 10
}

// muchHeap is the least heap for which Collect does anything.
const muchHeap = 256 << 20

// Collect collects garbage at once if the heap is large, before a stage that needs as much memory again. Otherwise the
// garbage of one stage would add to the memory of the next. Cost: some microseconds; if it collects, milliseconds,
// since histories are a few large slices without pointers.
func Collect() {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(s); s[0].Value.Uint64() >= muchHeap {
		runtime.GC()
	}
}
