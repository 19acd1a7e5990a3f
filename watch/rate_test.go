package watch

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// serialStream writes transactions of 15 operations on 1,000 keys, one after the other by the database's timestamps, as
// the papers' default workload has them, in the order of their commits. With client times, as Leopard wants them,
// twenty run at a time; with times of the operations, too, lines are twice as long.
func serialStream(w io.Writer, txns int, client, times bool) error {
	rng := rand.New(rand.NewPCG(2, 2))
	vals := make([]int64, 1000)
	b := []byte(`{"format":"isovet-history","version":1,"initial":0}` + "\n")
	add := func(text string, n int64) { b = strconv.AppendInt(append(b, text...), n, 10) }
	for i := range int64(txns) {
		add(`{"id":`, i)
		add(`,"session":`, i%50)
		add(`,"seq":`, i/50)
		at := 1_750_000_000_000_000_000 + 1000*i
		if client {
			add(`,"start":`, at)
			add(`,"commit":`, at+900)
			add(`,"end":`, at+1000+rng.Int64N(20_000))
		} else {
			add(`,"start_ts":`, 2*i+1)
			add(`,"commit_ts":`, 2*i+2)
		}
		b = append(b, `,"ops":[`...)
		for k := range int64(15) {
			key := rng.IntN(len(vals))
			kind := `["r",`
			if k%2 == 1 {
				kind = `["w",`
				vals[key] = i*15 + k + 1
			}
			if k > 0 {
				b = append(b, ',')
			}
			add(kind, int64(key))
			add(",", vals[key])
			if times {
				add(",", at+60*k)
				add(",", at+60*k+50)
			}
			b = append(b, ']')
		}
		b = append(b, "]}\n"...)
		if len(b) > 1<<16 || i == int64(txns)-1 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

// BenchmarkRate says how long the way from a pipe to the verdict takes, ISOVET_LONG=1 for a million transactions, and
// that nothing is found in what is right.
func BenchmarkRate(t *testing.B) {
	g := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}
	t.Run("aion", func(t *testing.B) {
		j := aionWith(t, AionOptions{Options: si, Lateness: 10_000, Gate: g})
		rate(t, j, func(w io.Writer, txns int) error { return serialStream(w, txns, false, false) })
	})
	for _, profile := range []string{"postgresql:repeatable-read", "postgresql:serializable"} {
		p := profileOf(t, profile)
		for _, times := range []bool{false, true} {
			t.Run(fmt.Sprintf("leopard/%s/%v", profile, times), func(t *testing.B) {
				j := leopardOf(t, LeopardOptions{Profile: p, Lateness: int64(time.Millisecond), Gate: g})
				rate(t, j, func(w io.Writer, txns int) error { return serialStream(w, txns, true, times) })
			})
		}
	}
}

func rate(t testing.TB, judge Judge, stream func(w io.Writer, txns int) error) {
	txns := histtest.Long(20_000, 1_000_000)
	r, w, err := os.Pipe()
	must.OK(t, err)
	defer r.Close()
	made := 0.0
	go func() {
		begin := processSeconds()
		if err := stream(io.Discard, txns); err != nil {
			t.Error(err)
		}
		made = processSeconds() - begin
		if err := stream(w, txns); err != nil {
			t.Error(err)
		}
		w.Close()
	}()
	var m Metrics
	begin, clock := processSeconds(), time.Now()
	err = Run(t.Context(), Config{Dir: t.TempDir(), Judge: judge, Metrics: &m,
		Open: pipeOf(r)})
	s := m.Get()
	if err != nil || s.Txns != int64(txns) || s.Late > 0 || len(s.Violations) > 0 || s.Bad > 0 {
		t.Fatalf("%v, %+v", err, s)
	}
	took := (processSeconds() - begin - 2*made) * 1e6 / float64(txns)
	t.Logf("%d transactions: %.1f µs of processor each, %.0f a second and core; %.1f s", txns, took, 1e6/took,
		time.Since(clock).Seconds())
}

// clientStream writes transactions of 8 operations on 10,000 keys, half of them of reads and half of writes, as 24
// clients see them: each commits at a moment of its own, in turn, and learns of that a while later, so that the order
// of the ends is not that of the commits.
func clientStream(w io.Writer, txns int, slow int64) error {
	const clients, apart = 24, 1000
	rng := rand.New(rand.NewPCG(3, 3))
	vals := make([]int64, 10_000)
	free := [clients]int64{} // since when
	b := []byte(`{"format":"isovet-history","version":1,"initial":0}` + "\n")
	for i := range int64(txns) {
		at := (i + clients) * apart
		c := int(i % clients)
		start := max(free[c]+1, at-rng.Int64N(clients*apart/2))
		end := at + 1 + rng.Int64N(slow)
		free[c] = end
		b = fmt.Appendf(b, `{"id":%d,"session":%d,"start":%d,"end":%d,"ops":[`, i, c, min(start, at), end)
		write := rng.IntN(2) == 0
		for k := range int64(8) {
			key := rng.IntN(len(vals))
			kind := 'r'
			if write {
				kind = 'w'
				vals[key] = i*8 + k + 1
			}
			if k > 0 {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, `["%c",%d,%d]`, kind, key, vals[key])
		}
		b = append(b, "]}\n"...)
		if len(b) > 1<<16 || i == int64(txns)-1 {
			if _, err := w.Write(b); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	return nil
}

// BenchmarkReplayRate says how long the way from a pipe to the verdict takes where the order of the ends is that of the
// commits and where it is not, and what memory it takes; ISOVET_LONG=1 for ten million transactions. Nothing is found
// in what is right.
func BenchmarkReplayRate(t *testing.B) {
	for _, slow := range []int64{1000, 12_000} {
		txns := histtest.Long(20_000, 10_000_000)
		r, w := io.Pipe()
		made := 0.0
		go func() {
			begin := processSeconds()
			if err := clientStream(io.Discard, txns, slow); err != nil {
				t.Error(err)
			}
			made = processSeconds() - begin
			w.CloseWithError(clientStream(w, txns, slow))
		}()
		var m Metrics
		judge := replayOf(t, ReplayOptions{Level: level.StrictSerializable, Lateness: 50_000_000,
			Attach: AttachAuto})
		begin := processSeconds()
		err := Run(t.Context(), Config{Dir: t.TempDir(), Judge: judge, Metrics: &m, Keep: Keep{Bytes: 1 << 20},
			Open: pipeOf(r)})
		s := m.Get()
		if err != nil || s.Txns != int64(txns) || s.Late > 0 || len(s.Violations) > 0 || s.Bad > 0 {
			t.Fatalf("%v, %+v", err, s)
		}
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		t.Logf("%d transactions, told of up to %d ns later: %.2f µs of processor each, %d MB, %+v", txns, slow,
			(processSeconds()-begin-2*made)*1e6/float64(txns), mem.Sys>>20, s.More[:3])
	}
}
