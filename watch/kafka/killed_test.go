package kafka

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/internal/test/histtest"
	"isovet/level"
	"isovet/watch"
)

// TestMain: as a child it watches a topic until all of it is judged, or it is killed.
func TestMain(m *testing.M) {
	if arg := os.Getenv("ISOVET_KAFKA_CHILD"); arg != "" {
		var c child
		err := json.Unmarshal([]byte(arg), &c)
		if err == nil {
			err = c.run(context.Background())
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child is a watch in a process of its own.
type child struct {
	Dir, Checker, Profile string
	Brokers               []string
	Lines                 int // of the topic
	Most                  int // lines every 2 ms; 0: all
}

func (c *child) run(ctx context.Context) error {
	judge, err := watch.NewAion(watch.AionOptions{Lateness: 100,
		Options: timestamp.Options{Level: level.SessionSnapshotIsolation}})
	if c.Checker == "leopard" {
		p, e := mechanism.LookupProfile(cmp.Or(c.Profile, "postgresql:repeatable-read"))
		if e != nil {
			return e
		}
		judge, err = watch.NewLeopard(watch.LeopardOptions{Profile: p, Lateness: 100_000})
	}
	if err != nil {
		return err
	}
	return watch.Run(ctx, watch.Config{Dir: c.Dir, Judge: judge, Checkpoint: 4 * time.Millisecond,
		Open: func(ctx context.Context, after watch.Places) (watch.Source, error) {
			src, err := Open(ctx, Options{Brokers: c.Brokers, Topic: topic, Idle: time.Hour}, after)
			left := c.Lines
			for _, last := range after {
				left -= int(last) + 1
			}
			return &whole{src, left, c.Most}, err
		}})
}

// whole is a source that ends with the last line of the topic.
type whole struct {
	watch.Source
	left, most int
}

func (w *whole) Next(ctx context.Context, most int) ([]watch.Line, error) {
	if w.left == 0 {
		return nil, io.EOF
	}
	if w.most > 0 {
		time.Sleep(2 * time.Millisecond)
		most = min(most, w.most)
	}
	lines, err := w.Source.Next(ctx, most)
	w.left -= len(lines)
	return lines, err
}

// stream makes transactions one after the other, of which some have read what was not there any more, and some come
// late; those of a session are in one partition. Messages have times in the order in which they are sent.
func stream(txns int) (all []*kgo.Record) {
	rng := rand.New(rand.NewPCG(3, 5))
	type version struct{ now, before int }
	held := make([]version, 30)
	type sent struct {
		at, session int
		text        string
	}
	var lines []sent
	for i := range txns {
		session := rng.IntN(12)
		b := fmt.Appendf(nil, `{"id":%d,"session":%d,"start_ts":%d,"commit_ts":%d,"start":%d,"commit":%d,"end":%d,"ops":[`,
			i, session, 2*i+1, 2*i+2, 1000*i, 1000*i+500, 1000*i+900)
		for n, k := range rng.Perm(len(held))[:4] {
			if n > 0 {
				b = append(b, ',')
			}
			switch v := &held[k]; {
			case n < 2 && rng.IntN(25) == 0 && v.before > 0:
				b = fmt.Appendf(b, `["r",%d,%d]`, k, v.before)
			case n < 2:
				b = fmt.Appendf(b, `["r",%d,%s]`, k, strings.Replace(fmt.Sprint(v.now), "-1", "null", 1))
			default:
				*v = version{4*i + n + 1, v.now}
				b = fmt.Appendf(b, `["w",%d,%d]`, k, v.now)
			}
			if held[k].now == 0 {
				b = bytes.Replace(b, fmt.Appendf(nil, `["r",%d,0]`, k), fmt.Appendf(nil, `["r",%d,null]`, k), 1)
			}
		}
		at := i
		if rng.IntN(90) == 0 {
			at += 200
		}
		lines = append(lines, sent{at, session, string(append(b, "]}"...))})
	}
	slices.SortStableFunc(lines, func(a, b sent) int { return a.at - b.at })
	for i, l := range lines {
		all = append(all, message(int32(l.session%4), int64(1e12)+int64(i), l.text))
	}
	return all
}

var numbered = regexp.MustCompile(`"n":\d+,`)

// violations are a folder's in any order, without their numbers, which must be one after the other.
func violations(t *testing.T, dir string) (out []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "violations.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if n := fmt.Sprintf(`"n":%d,`, len(out)+1); !bytes.Contains(line, []byte(n)) {
			t.Fatalf("%s without %s", line, n)
		}
		out = append(out, string(numbered.ReplaceAll(bytes.TrimSpace(line), nil)))
	}
	slices.Sort(out)
	return out
}

// process is a child that runs.
type process struct {
	cmd   *exec.Cmd
	said  bytes.Buffer
	ended chan error
}

func (c *child) start(t *testing.T) *process {
	t.Helper()
	arg, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(os.Args[0]), ended: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), "ISOVET_KAFKA_CHILD="+string(arg))
	p.cmd.Stderr = &p.said
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// killAt kills the process once its log has so many bytes, and reports whether it had not ended before.
func (p *process) killAt(t *testing.T, dir string, size int64) bool {
	t.Helper()
	for {
		select {
		case err := <-p.ended:
			if err != nil {
				t.Fatalf("%v: %s", err, p.said.Bytes())
			}
			return false
		case <-time.After(time.Millisecond):
		}
		if logSize(t, dir) >= size {
			break
		}
	}
	_ = p.cmd.Process.Kill()
	return <-p.ended != nil
}

func logSize(t *testing.T, dir string) (n int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "segment-*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if st, err := os.Stat(path); err == nil {
			n += st.Size()
		}
	}
	return n
}

// wait waits until the process has judged all.
func (p *process) wait(t *testing.T) {
	t.Helper()
	if err := <-p.ended; err != nil {
		t.Fatalf("%v: %s", err, p.said.Bytes())
	}
}

// alone is what one process finds that nobody kills.
func (c child) alone(t *testing.T) ([]string, int64) {
	t.Helper()
	c.Dir, c.Most = t.TempDir(), 0
	if err := c.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return violations(t, c.Dir), logSize(t, c.Dir)
}

// TestKilled: killed with SIGKILL at random places of the stream and started again, by each judge: the violations of a
// run that nobody killed, each once.
func TestKilled(t *testing.T) {
	kills := histtest.Long(3, 200)
	all := stream(1000 + 20*kills)
	c := brokers(t, kfake.SeedTopics(4, topic))
	defer c.Close()
	produce(t, client(t, c), all...)
	for _, checker := range []string{"aion", "leopard"} {
		x := child{Checker: checker, Brokers: c.ListenAddrs(), Lines: len(all), Most: 1 + len(all)/(12*kills)}
		want, size := x.alone(t)
		if len(want) < 40 {
			t.Fatalf("%s: %d violations are too few", checker, len(want))
		}
		x.Dir = t.TempDir()
		rng := rand.New(rand.NewPCG(7, uint64(len(checker))))
		var at []int64
		for range kills {
			at = append(at, rng.Int64N(size*9/10))
		}
		slices.Sort(at)
		midway := 0
		for _, size := range at {
			if x.start(t).killAt(t, x.Dir, size) {
				midway++
			}
		}
		x.start(t).wait(t)
		if got := violations(t, x.Dir); !slices.Equal(got, want) {
			t.Fatalf("%s: %d violations; expected %d", checker, len(got), len(want))
		}
		if midway < kills/2 && kills > 20 { // on a slow machine a few may come too late
			t.Errorf("%s: killed %d times", checker, midway)
		}
		t.Logf("%s: killed %d times; %d violations", checker, midway, len(want))
	}
}
