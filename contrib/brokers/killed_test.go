// Package brokers tests what watch reads from brokers where processes are killed and servers are stopped.
package brokers

import (
	"bytes"
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

	nserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/internal/test/histtest"
	"isovet/level"
	"isovet/watch"
	"isovet/watch/kafka"
)

// TestMain: as a child it watches a broker until all of the stream is judged, or it is killed.
func TestMain(m *testing.M) {
	if arg := os.Getenv("ISOVET_BROKERS_CHILD"); arg != "" {
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
	Dir, Checker string
	Kafka        []string // addresses of brokers
	NATS         string   // else: the server's address
	Lines        int      // of the stream
	Most         int      // lines every 2 ms; 0: all
}

func (c *child) run(ctx context.Context) error {
	judge, err := watch.NewAion(watch.AionOptions{Lateness: 100,
		Options: timestamp.Options{Level: level.SessionSnapshotIsolation}})
	if c.Checker == "leopard" {
		p, e := mechanism.LookupProfile("postgresql:repeatable-read")
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
			left := c.Lines
			if c.NATS != "" {
				done := max(after.Last(), 0) // the first message is 1
				src, err := watch.NATS(ctx, watch.NATSOptions{URL: c.NATS, Subject: topic, Durable: c.Checker}, done)
				return &whole{src, left - int(done), c.Most}, err
			}
			for _, last := range after {
				left -= int(last) + 1
			}
			src, err := kafka.Open(ctx, kafka.Options{Brokers: c.Kafka, Topic: topic, Idle: time.Hour}, after)
			return &whole{src, left, c.Most}, err
		}})
}

// whole is a source that ends with the last line of the stream.
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
		at := time.UnixMilli(int64(1e12) + int64(i))
		all = append(all, &kgo.Record{Partition: int32(l.session % 4), Timestamp: at, Value: []byte(l.text)})
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
	p.cmd.Env = append(os.Environ(), "ISOVET_BROKERS_CHILD="+string(arg))
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

// TestKilled: killed with SIGKILL at random places of the stream and started again, by each judge, with each broker:
// the violations of a run that nobody killed, each once.
func TestKilled(t *testing.T) {
	kills := histtest.Long(3, 200)
	for _, checker := range []string{"aion", "leopard"} {
		for _, broker := range []string{"kafka", "nats"} {
			t.Run(checker+"/"+broker, func(t *testing.T) {
				all := stream(1000 + 20*kills)
				c := child{Checker: checker, Lines: len(all), Most: 1 + len(all)/(12*kills)}
				if broker == "kafka" {
					c.Kafka = produce(t, all)
				} else {
					c.NATS = publish(t, all)
				}
				c.killed(t, kills)
			})
		}
	}
}

// killed compares a watch that is killed so many times with one that nobody kills.
func (c child) killed(t *testing.T, kills int) {
	t.Helper()
	want, size := c.alone(t)
	if len(want) < 40 {
		t.Fatalf("%d violations are too few", len(want))
	}
	c.Dir = t.TempDir()
	rng := rand.New(rand.NewPCG(7, uint64(len(c.Checker))))
	var at []int64
	for range kills {
		at = append(at, rng.Int64N(size*9/10))
	}
	slices.Sort(at)
	midway := 0
	for _, size := range at {
		if c.start(t).killAt(t, c.Dir, size) {
			midway++
		}
	}
	c.start(t).wait(t)
	if got := violations(t, c.Dir); !slices.Equal(got, want) {
		t.Fatalf("%d violations; expected %d", len(got), len(want))
	}
	if midway < kills/2 && kills > 20 { // on a slow machine a few may come too late
		t.Errorf("killed %d times", midway)
	}
	t.Logf("killed %d times; %d violations", midway, len(want))
}

const topic = "txns" // and subject

// produce starts a broker of Kafka that has the messages, and returns its addresses.
func produce(t *testing.T, all []*kgo.Record) []string {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(4, topic))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	k, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.DefaultProduceTopic(topic))
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	if err := k.ProduceSync(t.Context(), all...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return c.ListenAddrs()
}

// publish starts a server of NATS that has the messages, and returns its address.
func publish(t *testing.T, all []*kgo.Record) string {
	t.Helper()
	server := startNATS(t, nserver.Options{Port: -1, StoreDir: t.TempDir()})
	t.Cleanup(func() { server.Shutdown(); server.WaitForShutdown() })
	conn, err := nats.Connect(server.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "T", Subjects: []string{topic}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if _, err := js.Publish(t.Context(), topic, r.Value); err != nil {
			t.Fatal(err)
		}
	}
	return server.ClientURL()
}
