package watch

import (
	"bufio"
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
	out := lineWriter(w)
	add := func(text string, n int64) {
		out.WriteString(text)
		out.Write(strconv.AppendInt(out.AvailableBuffer(), n, 10))
	}
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
		open := `,"ops":[["`
		for k := range int64(15) {
			key := rng.IntN(len(vals))
			kind := `r",`
			if k%2 == 1 {
				kind = `w",`
				vals[key] = i*15 + k + 1
			}
			out.WriteString(open)
			add(kind, int64(key))
			add(",", vals[key])
			if times {
				add(",", at+60*k)
				add(",", at+60*k+50)
			}
			open = `],["`
		}
		out.WriteString("]]}\n")
	}
	return out.Flush()
}

// lineWriter writes a recording in large parts, of which this is the header.
func lineWriter(w io.Writer) *bufio.Writer {
	out := bufio.NewWriterSize(w, 1<<16)
	out.WriteString(`{"format":"isovet-history","version":1,"initial":0}` + "\n")
	return out
}

// BenchmarkRate says how long the way from a pipe to the verdict takes, ISOVET_LONG=1 for a million transactions, and
// that nothing is found in what is right.
func BenchmarkRate(t *testing.B) {
	txns := histtest.Long(20_000, 1_000_000)
	g := GateOptions{Once: true, MaxJump: time.Minute, Patience: time.Minute}
	t.Run("aion", func(t *testing.B) {
		j := aionWith(t, AionOptions{Options: si, Lateness: 10_000, Gate: g})
		rate(t, j, txns, func(w io.Writer) error { return serialStream(w, txns, false, false) })
	})
	for _, profile := range []string{"postgresql:repeatable-read", "postgresql:serializable"} {
		p := profileOf(t, profile)
		for _, times := range []bool{false, true} {
			t.Run(fmt.Sprintf("leopard/%s/%v", profile, times), func(t *testing.B) {
				j := leopardOf(t, LeopardOptions{Profile: p, Lateness: int64(time.Millisecond), Gate: g})
				rate(t, j, txns, func(w io.Writer) error { return serialStream(w, txns, true, times) })
			})
		}
	}
}

func rate(t testing.TB, judge Judge, txns int, stream func(w io.Writer) error) {
	clock := time.Now()
	_, took := piped(t, Config{Dir: t.TempDir(), Judge: judge}, txns, stream)
	t.Logf("%d transactions: %.1f µs of processor each, %.0f a second and core; %.1f s", txns, took, 1e6/took,
		time.Since(clock).Seconds())
}

// piped watches a stream from a pipe in which nothing is wrong, and ends the test where something is found. It returns
// the processor time of a transaction in µs, without what the stream takes to be made.
func piped(t testing.TB, c Config, txns int, stream func(w io.Writer) error) (Snapshot, float64) {
	r, w, err := os.Pipe()
	must.OK(t, err)
	defer r.Close()
	made := 0.0
	go func() {
		begin := processSeconds()
		err := stream(io.Discard)
		made = processSeconds() - begin
		if err != nil {
			t.Error(err)
		}
		_, _ = stream(w), w.Close() // the watch may have ended before
	}()
	var m Metrics
	c.Metrics, c.Open = &m, pipeOf(r)
	begin := processSeconds()
	err = Run(t.Context(), c)
	s := m.Get()
	if err != nil || s.Txns != int64(txns) || s.Late > 0 || len(s.Violations) > 0 || s.Bad > 0 {
		t.Fatalf("%v, %+v", err, s)
	}
	return s, (processSeconds() - begin - 2*made) * 1e6 / float64(txns)
}

// clientStream writes transactions of 8 operations on 10,000 keys, half of them of reads and half of writes, as 24
// clients see them: each commits at a moment of its own, in turn, and learns of that a while later, so that the order
// of the ends is not that of the commits.
func clientStream(w io.Writer, txns int, slow int64) error {
	const clients, apart = 24, 1000
	rng := rand.New(rand.NewPCG(3, 3))
	vals := make([]int64, 10_000)
	free := [clients]int64{} // since when
	out := lineWriter(w)
	for i := range int64(txns) {
		at := (i + clients) * apart
		c := int(i % clients)
		start := max(free[c]+1, at-rng.Int64N(clients*apart/2))
		end := at + 1 + rng.Int64N(slow)
		free[c] = end
		fmt.Fprintf(out, `{"id":%d,"session":%d,"start":%d,"end":%d,"ops":[`, i, c, min(start, at), end)
		kind, open := "r", ""
		if rng.IntN(2) == 0 {
			kind = "w"
		}
		for k := range int64(8) {
			key := rng.IntN(len(vals))
			if kind == "w" {
				vals[key] = i*8 + k + 1
			}
			fmt.Fprintf(out, `%s["%s",%d,%d]`, open, kind, key, vals[key])
			open = ","
		}
		out.WriteString("]}\n")
	}
	return out.Flush()
}

// BenchmarkReplayRate says how long the way from a pipe to the verdict takes where the order of the ends is that of the
// commits and where it is not, and what memory it takes; ISOVET_LONG=1 for ten million transactions. Nothing is found
// in what is right.
func BenchmarkReplayRate(t *testing.B) {
	for _, slow := range []int64{1000, 12_000} {
		txns := histtest.Long(20_000, 10_000_000)
		judge := replayOf(t, ReplayOptions{Level: level.StrictSerializable, Lateness: 50_000_000,
			Attach: AttachAuto})
		s, took := piped(t, Config{Dir: t.TempDir(), Judge: judge, Keep: Keep{Bytes: 1 << 20}}, txns,
			func(w io.Writer) error { return clientStream(w, txns, slow) })
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		t.Logf("%d transactions, told of up to %d ns later: %.2f µs of processor each, %d MB, %+v", txns, slow,
			took, mem.Sys>>20, s.More[:3])
	}
}
