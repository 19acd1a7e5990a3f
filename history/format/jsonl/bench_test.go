package jsonl

import (
	"io"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"isovet/history"
	"isovet/internal/test/histtest/randtest"
	"isovet/internal/test/must"
)

// blindW writes a document like BlindW-WR: 24 sessions, 10,000 keys, transactions of eight operations that read or
// write, values unique. With opTimes every operation has its client times.
func blindW(txns int, opTimes bool) []byte {
	rnd := rand.New(rand.NewPCG(1, 2))
	const keys, sessions = 10_000, 24
	out := make([]byte, 0, txns*(260+320*b2i(opTimes)))
	num := func(s string, n int64) { out = strconv.AppendInt(append(out, s...), n, 10) }
	last := make([]int64, keys)
	var seq [sessions]int64
	now := int64(1795229138282797876)
	out = append(out, `{"format":"isovet-history","version":1,"name":"blindw-wr","initial":0}`+"\n"...)
	val := int64(0)
	for t := range txns {
		s := rnd.IntN(sessions)
		num(`{"id":`, int64(t))
		num(`,"session":`, int64(s))
		num(`,"seq":`, seq[s])
		seq[s]++
		start := now
		now += 20_000
		num(`,"start":`, start)
		num(`,"commit":`, now)
		num(`,"end":`, now+300)
		out = append(out, `,"ops":[`...)
		write := rnd.IntN(2) == 0
		for i := range 8 {
			if i > 0 {
				out = append(out, ',')
			}
			k := rnd.IntN(keys)
			if write {
				val++
				last[k] = val
				num(`["w",`, int64(k))
			} else {
				num(`["r",`, int64(k))
			}
			num(`,`, last[k])
			if opTimes {
				num(`,`, start+int64(i)*2000)
				num(`,`, start+int64(i)*2000+1500)
			}
			out = append(out, ']')
		}
		out = append(out, "]}\n"...)
	}
	return out
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func BenchmarkWrite(b *testing.B) {
	data := blindW(250_000, false)
	h := must.Get(Read(data, "bench"))(b)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		must.OK(b, Write(io.Discard, h))
	}
}

// peak runs f and returns the most memory that the heap took from the system meanwhile, garbage and all, beyond what it
// had.
func peak(f func()) uint64 {
	debug.FreeOSMemory()
	s := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	now := func() uint64 { metrics.Read(s); return s[0].Value.Uint64() - s[1].Value.Uint64() }
	before := now()
	var most atomic.Uint64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			most.Store(max(most.Load(), now()))
			select {
			case <-stop:
				return
			case <-time.After(500 * time.Microsecond):
			}
		}
	}()
	f()
	close(stop)
	<-done
	return max(most.Load(), now()) - before
}

// TestMemory bounds what reading takes beyond the file, at its peak and with garbage: 40 bytes an operation on one
// core, and the operations' times, where there are any, by themselves.
func TestMemory(t *testing.T) {
	if !randtest.Long(false, true) {
		t.Skip("SKIPPED, NOTHING TESTED: a load raises the peak; ISOVET_LONG=1 asks for it")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in a program, where must has 400
	for _, c := range []struct {
		name    string
		txns    int
		opTimes bool
		workers int
		bound   float64 // bytes an operation
	}{
		{"one core", 150_000, false, 1, 40},
		{"two cores", 150_000, false, 2, 48}, // the second core's columns are copied behind the first's
		{"one core, operation times", 100_000, true, 1, 40 + 16 + 4},
		{"two cores, operation times", 100_000, true, 2, 48 + 16 + 12},
	} {
		data := blindW(c.txns, c.opTimes)
		var h *history.History
		var err error
		got := peak(func() { h, err = ReadParallel(t.Context(), data, "t", c.workers) })
		must.OK(t, err)
		per := float64(got) / float64(h.NumOps())
		t.Logf("%s: %.1f bytes an operation, %d MB of file", c.name, per, len(data)>>20)
		must.Be(t, per <= c.bound, "%s: %.1f bytes an operation at the peak; want at most %.0f", c.name, per, c.bound)
		runtime.KeepAlive(h)
	}
}
