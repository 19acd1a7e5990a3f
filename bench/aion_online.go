package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"isovet/datasets"
	"isovet/history/format/jsonl"
	"isovet/internal/safego"
	"isovet/level"
)

// AION end to end: isovet watch runs in a process of its own and receives lines through a pipe, as from a collector.
// It has time-outs by the clock, a log, and a memory bound; if it is reached, states of keys go to disk.

// patience is the paper's time-out (§IV-A).
const patience = 5 * time.Second

// patience returns the time-out, which at the quick scale is a tenth.
func (l *Lab) patience() time.Duration {
	if l.Scale == QuickScale {
		return patience / 10
	}
	return patience
}

// arrival is a line and the time when it arrives.
type arrival struct {
	at   time.Duration
	line []byte
}

// batched is the number of transactions that a collector sends at a time (§VI-A).
const batched = 500

// sent makes the lines of a workload as collectors send them: perSecond transactions commit per second; a batch is
// sent when its last transaction has committed, and arrives after a delay drawn from N(mu, sigma²), in ms. head has
// the header and the initial transaction.
func (l *Lab) sent(ctx context.Context, spec datasets.Spec, batch int, perSecond, mu, sigma float64) (head, []arrival,
	error) {
	h, err := l.generated(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	var text bytes.Buffer
	if err := jsonl.Write(&text, h); err != nil {
		return nil, nil, err
	}
	var first head
	type stamped struct {
		commit int64
		line   []byte
	}
	var all []stamped
	for line := range bytes.Lines(text.Bytes()) {
		var x struct {
			Format string
			Init   bool
			Commit *int64 `json:"commit_ts"`
		}
		if err := json.Unmarshal(line, &x); err != nil {
			return nil, nil, err
		}
		switch {
		case x.Format != "" || x.Init:
			first = append(first, line...)
		case x.Commit != nil:
			all = append(all, stamped{*x.Commit, line})
		}
	}
	slices.SortFunc(all, func(a, b stamped) int { return int(a.commit - b.commit) })
	rng := rand.New(rand.NewPCG(l.Seed, 0xa11))
	out := make([]arrival, len(all))
	for i, x := range all {
		full := min((i/batch+1)*batch, len(all))
		ms := float64(full)/perSecond*1000 + max(0, mu+sigma*rng.NormFloat64())
		out[i] = arrival{time.Duration(ms * float64(time.Millisecond)), x.line}
	}
	slices.SortStableFunc(out, func(a, b arrival) int { return int(a.at - b.at) })
	return first, out, nil
}

// head has the lines that come first.
type head []byte

// watching are the options for watching a stream.
type watching struct {
	level  level.Level
	memory string // "": any
	paced  bool   // lines come when they are to, else as fast as they are taken
	// wait, if positive, is how long no line comes before the stream ends, so that time-outs expire.
	wait time.Duration
	// tick, if set, is called at each percent of the lines with watch's own metrics.
	tick func(percent int, since time.Duration, now map[string]float64)
}

// pipeRun is the result of watching a stream through a pipe.
type pipeRun struct {
	took time.Duration // until the process had ended
	last map[string]float64
	most float64 // MB of memory
}

// watches reports whether this program has the command watch.
func (l *Lab) watches(ctx context.Context) bool {
	if l.asked != nil {
		return true
	}
	return exec.CommandContext(ctx, l.self[0], append(slices.Clone(l.self[1:]), "watch", "--help")...).Run() == nil
}

// rates runs isovet watch on a stream. It adds its throughput in each fifth of the stream and in all, and its peak
// memory.
func (l *Lab) rates(ctx context.Context, r *Report, name string, first head, lines []arrival,
	o watching) (pipeRun, error) {
	before := time.Duration(0)
	o.tick = func(percent int, since time.Duration, _ map[string]float64) {
		if percent%20 == 0 {
			r.Add(decided("rate", strconv.Itoa(percent), name,
				float64(len(lines))/5/max(since-before, time.Microsecond).Seconds()))
			before = since
		}
	}
	w, err := l.pipeTo(ctx, first, lines, o)
	if err == nil {
		r.Add(decided("whole", "100", name, float64(len(lines))/w.took.Seconds()))
		r.Add(decided("memory", "100", name, w.most))
	}
	return w, err
}

func (l *Lab) pipeTo(ctx context.Context, first head, lines []arrival, o watching) (w pipeRun, err error) {
	if l.asked != nil {
		return pipeRun{took: time.Second}, nil
	}
	dir, err := os.MkdirTemp(l.dir, "watch-")
	if err != nil {
		return w, err
	}
	defer os.RemoveAll(dir)
	at, err := freeAddress()
	if err != nil {
		return w, err
	}
	args := append(slices.Clone(l.self[1:]), "watch", "--checker", "aion", "--level", o.level.String(), "--state",
		filepath.Join(dir, "w"), "--lateness", l.patience().String(), "--metrics", at, "--keep", "256MiB")
	if o.memory != "" {
		args = append(args, "--memory", o.memory)
	}
	cmd := exec.CommandContext(ctx, l.self[0], args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		return w, err
	}
	if err := cmd.Start(); err != nil {
		return w, err
	}
	p := metricsPoll{at: at, run: &w}
	end := p.often(ctx)
	start := time.Now()
	poll := func() map[string]float64 { return p.poll(ctx) }
	err = l.feed(ctx, in, first, lines, o, start, poll)
	if err == nil && o.wait > 0 {
		for end := time.Now().Add(time.Minute); time.Now().Before(end) && ctx.Err() == nil; {
			if now := poll(); now != nil && int(now["transactions_total"]) >= len(lines) {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		time.Sleep(o.wait)
		poll()
	}
	end()
	err = errors.Join(err, in.Close())
	status := cmd.Wait()
	w.took = time.Since(start) - o.wait
	if exit, ok := errors.AsType[*exec.ExitError](status); ok && exit.ExitCode() == 1 {
		status = nil // violations, or late ones
	}
	if status != nil {
		status = fmt.Errorf("isovet watch: %w: %s", status, strings.TrimSpace(said.String()))
	}
	if ctx.Err() != nil {
		return w, ctx.Err()
	}
	return w, errors.Join(status, err)
}

// together runs n watches at once, each at the pace of the clock; one alone would leave the machine almost idle.
func (l *Lab) together(ctx context.Context, n, txns int, stream func(i int) (head, []arrival, error)) ([]pipeRun,
	error) {
	runs, errs := make([]pipeRun, n), make([]error, n)
	var g safego.Group
	defer g.Wait()
	for i := range n {
		first, lines, err := stream(i)
		if err != nil {
			return nil, err
		}
		g.Go(func() {
			runs[i], errs[i] = l.pipeTo(ctx, first, lines, watching{level: chronosLevel, paced: true,
				wait: l.patience() + time.Second})
		})
	}
	l.tell(fmt.Sprintf("%d transactions at %d a second", txns, paperRate))
	g.Wait()
	return runs, errors.Join(errs...)
}

// freeAddress returns an unused address of loopback.
func freeAddress() (string, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return free.Addr().String(), free.Close()
}

// metricsPoll asks a watch for its metrics.
type metricsPoll struct {
	at  string // its address
	mu  sync.Mutex
	run *pipeRun
}

func (p *metricsPoll) poll(ctx context.Context) map[string]float64 {
	now := metricsOf(ctx, p.at)
	p.mu.Lock()
	defer p.mu.Unlock()
	if now != nil {
		p.run.last, p.run.most = now, max(p.run.most, now["memory_bytes"]/1e6)
	}
	return now
}

// often polls five times a second until end is called.
func (p *metricsPoll) often(ctx context.Context) (end func()) {
	stop := make(chan struct{})
	var g safego.Group
	g.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Millisecond):
				p.poll(ctx)
			}
		}
	})
	return func() {
		close(stop)
		g.Wait()
	}
}

func (l *Lab) feed(ctx context.Context, to io.Writer, first head, lines []arrival, o watching, start time.Time,
	poll func() map[string]float64) error {
	b := bufio.NewWriterSize(to, 1<<16)
	if _, err := b.Write(first); err != nil {
		return err
	}
	percent := 0
	for i, x := range lines {
		if o.paced {
			if d := x.at - time.Since(start); d > 0 {
				if err := b.Flush(); err != nil {
					return err
				}
				time.Sleep(d)
			}
		}
		if _, err := b.Write(x.line); err != nil {
			return err
		}
		for 100*(i+1) >= (percent+1)*len(lines) && percent < 100 {
			if percent++; o.tick != nil {
				o.tick(percent, time.Since(start), poll())
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return b.Flush()
}

// metricsOf returns watch's own metrics, or nil if it does not answer.
func metricsOf(ctx context.Context, at string) map[string]float64 {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	page, err := databases.Get(ctx, "http://"+at+"/metrics")
	if err != nil {
		return nil
	}
	out := map[string]float64{}
	for line := range strings.Lines(page) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, ours := strings.CutPrefix(name, "isovet_watch_")
		if !ours {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		whole := name
		if name, _, _ = strings.Cut(name, "{"); name != whole {
			out[whole] = v
		}
		out[name] += v
	}
	return out
}

// byWatch makes a measurement that is skipped if this program has no command watch.
func byWatch(measure measuring) measuring {
	return func(ctx context.Context, lab *Lab, r *Report) error {
		if lab.watches(ctx) {
			return measure(ctx, lab, r)
		}
		r.Note("Nothing was measured, because this program has no command watch.")
		return nil
	}
}

// eachMemory measures rates with much and little memory. add adds the last metrics of each.
func (l *Lab) eachMemory(ctx context.Context, r *Report, of string, first head, lines []arrival, at level.Level,
	add func(name string, last map[string]float64)) error {
	for _, memory := range []string{plenty, some, little} {
		name := of + ", " + memory
		err := l.step(r, name, func() error {
			l.tell(name)
			w, err := l.rates(ctx, r, name, first, lines, watching{level: at, memory: memory})
			if err == nil {
				add(name, w.last)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// aionOnlineRate measures Figure 12 end to end.
func aionOnlineRate(ctx context.Context, lab *Lab, r *Report) error {
	txns := lab.Pick(2000, 200_000, 500_000)
	for _, c := range []struct {
		name, isolation string
		at              level.Level
		keys            int
	}{{"SI", "snapshot-isolation", chronosLevel, 1000},
		{"SI, many keys", "snapshot-isolation", chronosLevel, 1_000_000},
		{"SER", "serializable", level.SessionSerializable, 1000}} {
		spec := tableI(txns)
		spec.Sessions, spec.Ops, spec.Isolation, spec.Keys = 24, 8, c.isolation, c.keys
		if c.isolation == "serializable" {
			spec.Variant = "read-heavy"
			r.Note("At serializable %d %% of the operations read, as in the paper.", 90)
		}
		first, lines, err := lab.sent(ctx, spec, batched, 25_000, 100, 10)
		if err != nil {
			return err
		}
		err = lab.eachMemory(ctx, r, c.name, first, lines, c.at, func(name string, last map[string]float64) {
			r.Add(decided("wrong", "100", name, last["violations_total"]))
		})
		if err != nil {
			return err
		}
		if c.isolation != "serializable" {
			continue
		}
		for _, way := range []cobraWay{cobraDefault, cobraPurdom, cobraDense} {
			f, err := lab.follow(ctx, spec, way)
			if err != nil {
				return err
			}
			f.addRates(r, way.String(), 5)
			f.addWhole(r, way.String())
		}
	}
	r.Note(cobraNote + " What it loads and how long that takes is part of the whole run alone.")
	r.Note("isovet watch runs in a process of its own and reads JSON lines from a pipe at full speed, in batches of "+
		"%d with delays of N(100, 10²) ms; 24 sessions, 8 operations a transaction; --lateness 5s by the clock; the "+
		"log is written and synced. Memory is the system's count. \"Many keys\" are a million keys, which an "+
		"initial transaction writes; the other histories have 1,000 keys. RUBiS and Twitter (Figures 12c, 12d) are "+
		"in aion/online-datasets.", batched)
	return nil
}

// aionOnlineFlips measures Figures 13 and 14 end to end: how many verdicts change before they are final.
func aionOnlineFlips(ctx context.Context, lab *Lab, r *Report) error {
	txns := lab.Pick(600, 10_000, 10_000)
	runs, err := lab.together(ctx, len(delays), txns, func(i int) (head, []arrival, error) {
		return lab.sent(ctx, tableI(txns), 1, paperRate, delays[i].mu, delays[i].sigma)
	})
	if err != nil {
		return err
	}
	for i, d := range delays {
		r.Add(decided("flips", d.String(), "verdicts", runs[i].last["flips_total"]))
		r.Add(decided("wrong", d.String(), "violations", runs[i].last["violations_total"]))
	}
	r.Note("%d transactions, of which %d commit a second; each arrives after its own delay, by the clock; verdicts "+
		"are final %v later. In batches of %d, as in the paper, the lines of a batch would arrive in no order, "+
		"whatever the deviation. Each isovet watch runs in a process of its own, six at a time.", txns, paperRate,
		lab.patience(), batched)
	return nil
}

// aionOnlineMemory measures Figure 16 end to end.
func aionOnlineMemory(ctx context.Context, lab *Lab, r *Report) error {
	txns, rate := lab.Pick(1000, 100_000, 100_000), [...]float64{QuickScale: 1000, DefaultScale: 3000,
		FullScale: paperRate}[lab.Scale]
	spec := tableI(txns)
	spec.Keys = max(1000, txns)
	first, lines, err := lab.sent(ctx, spec, batched, rate, 100, 10)
	if err != nil {
		return err
	}
	for _, memory := range []string{"1GiB", little} {
		err := lab.step(r, memory, func() error {
			lab.tell(memory)
			_, err := lab.pipeTo(ctx, first, lines, watching{level: chronosLevel, memory: memory, paced: true,
				tick: func(percent int, _ time.Duration, now map[string]float64) {
					if percent%5 == 0 && now != nil {
						r.Add(decided("memory", strconv.Itoa(percent), memory, now["memory_bytes"]/1e6))
						r.Add(decided("spilled", strconv.Itoa(percent), memory, now["spilled_keys"]))
					}
				}})
			return err
		})
		if err != nil {
			return err
		}
	}
	r.Note("%.0f transactions a second, %d keys; time-outs of %v by the clock. Memory is the system's count for the "+
		"process.", rate, spec.Keys, lab.patience())
	return nil
}

// Three memory bounds: enough for everything, enough for much of it, and so little that keys must be on disk.
const (
	plenty = "4GiB"
	some   = "128MiB"
	little = "32MiB"
)
