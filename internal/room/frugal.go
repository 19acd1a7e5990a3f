package room

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// usualPercent is the garbage, in percent of what is live, that a small heap may hold before it is collected.
const usualPercent = 50

// Frugal has the heap of this process hold less garbage the larger it is, from now on. Histories are a few large slices
// without pointers, so that to collect a gigabyte takes about a millisecond; where collecting turns out to be a
// noticeable part of the work, it is left as usual. Cost: some microseconds a collection.
func Frugal() {
	debug.SetGCPercent(usualPercent)
	now.Store(usualPercent)
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

func tune() {
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
	case live < 64<<20 || gc > (gc+user)/16:
		return usualPercent
	case live < 256<<20:
		return 25
	}
	return 10
}
