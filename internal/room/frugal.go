package room

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// usualPercent is the garbage, in percent of what is live, that a heap of some size may hold before it is collected.
const usualPercent = 50

// smallHeap is up to where nothing is collected: below, a collection costs more than it frees. Of 10,000 transactions
// a third of the processor time went to six of them.
const smallHeap = 24 << 20

// smallPercent has the runtime collect nothing up to smallHeap: at 100 percent that is up to 4 MiB, at others in
// proportion.
const smallPercent = 100 * smallHeap / (4 << 20)

// Frugal has the heap of this process hold less garbage the larger it is, from now on, and collects none while it is
// small. Histories are a few large slices without pointers, so that to collect a gigabyte takes about a millisecond;
// where collecting turns out to be a noticeable part of the work, it is left as usual. Cost: some microseconds a
// collection.
func Frugal() {
	debug.SetGCPercent(smallPercent)
	now.Store(smallPercent)
	tuned.Do(afterNext)
}

// now is the percentage that is set; tuned is done once something sees to it.
var (
	now   atomic.Int64
	tuned sync.Once
)

// afterNext tunes after each collection: an object that nobody holds is found by the next.
func afterNext() {
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		tune()
		afterNext()
	})
}

// sentinel is larger than what the runtime packs together with others.
type sentinel struct{ _ [4]*byte }

// fixed says that the percentage is someone's choice.
var fixed atomic.Bool

// Fix sets the percentage for measurements that vary it, and keeps it until the function that it returns is called.
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

// percent is how much garbage there may be beside so many live bytes, where collecting took gc seconds of the process
// and all else user.
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

// muchHeap is from where on Collect does anything.
const muchHeap = 256 << 20

// Collect has the garbage of a large heap collected at once, before a stage begins that needs as much again: else the
// garbage that may be there beside what one stage held stands beside what the next takes.
// Cost: some microseconds; where it collects, milliseconds, for histories are a few large slices without pointers.
func Collect() {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	if metrics.Read(s); s[0].Value.Uint64() >= muchHeap {
		runtime.GC()
	}
}
