package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// child watches until it is killed: its argument has, between bars, the folder, the judge, the lateness, how many lines
// it takes every 3 ms, and the source.
func child(arg string) error {
	part := strings.Split(arg, "|")
	dir, judge, source := part[0], part[1], part[4]
	lateness, _ := strconv.ParseInt(part[2], 10, 64)
	most, _ := strconv.Atoi(part[3])
	segmentBytes = 50_000
	cfg := Config{Dir: dir, Judge: aionOf(si, lateness), Idle: 500 * time.Millisecond, Checkpoint: 4 * time.Millisecond}
	if rest, is := strings.CutSuffix(judge, "-grouped"); is {
		judge = rest
		cfg.Grouped, cfg.ViolationsMax, cfg.Judge = true, groupedMax, groupedJudge(judge, lateness)
	} else if judge == "leopard" {
		cfg.Idle = 1500 * time.Millisecond // a pause in the midst would make more late
		j, err := NewLeopard(LeopardOptions{Lateness: lateness})
		if err != nil {
			return err
		}
		cfg.Judge = j
	}
	kind, at, _ := strings.Cut(source, " ")
	cfg.Open = func(ctx context.Context, after Places) (s Source, err error) {
		switch kind {
		case "nats":
			name := "watch" + strings.ReplaceAll(strings.TrimPrefix(judge, "aion"), " ", "-") // one's alone
			s, err = NATS(ctx, NATSOptions{URL: at, Subject: "txns", Durable: name}, max(after.Last(), 0))
		case "http":
			var l *HTTPServer
			if l, err = ListenHTTP(HTTPOptions{Addr: at}); err == nil {
				s = l.Source(after)
			}
		case "pipe":
			var text []byte
			if text, err = os.ReadFile(at); err == nil {
				lines := bytes.SplitAfter(text, []byte("\n"))
				r, w := io.Pipe()
				go w.Write(bytes.Join(lines[after.Last()+1:], nil)) // and never ends
				s = Pipe(r, after.Last())
			}
		default:
			s, err = Files(FileOptions{Path: at}, after)
		}
		return slow{s, most}, err
	}
	return Run(context.Background(), cfg)
}

// slow gives time to kill.
type slow struct {
	Source
	most int
}

func (s slow) Next(ctx context.Context, _ int) ([]Line, error) {
	time.Sleep(3 * time.Millisecond)
	return s.Source.Next(ctx, s.most)
}

var numbered = regexp.MustCompile(`"n":\d+,`)

// unnumbered are a folder's violations in any order, without their numbers, which must be one after the other.
func unnumbered(t *testing.T, dir string) (out []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "violations.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if n := fmt.Sprintf(`"n":%d,`, len(out)+1); !bytes.Contains(line, []byte(n)) {
			t.Fatalf("%s without %s", line, n)
		}
		out = append(out, string(numbered.ReplaceAll(line, nil)))
	}
	slices.Sort(out)
	return out
}

// TestKilled: killed with SIGKILL at random moments and started again, ten times in one stream (200 with ISOVET_LONG),
// with a checkpoint every few batches, by each judge and from each source: the violations of a run that nobody killed,
// each once.
func TestKilled(t *testing.T) {
	kills := 10
	if os.Getenv("ISOVET_LONG") != "" {
		kills = 200
	}
	type stream struct {
		judge    string
		lateness int64
		lines    [][]byte
		want     []string
	}
	_, lines := arrivals(t, 2, 3000)
	streams := []*stream{{judge: "aion", lateness: 400, lines: lines}}
	m := brokenRun(t, "blindw", "snapshot", "version", 0, 2000)
	// some come late
	streams = append(streams, &stream{judge: "leopard", lateness: m.apart / 3, lines: m.lines})
	for _, s := range streams {
		dir := t.TempDir()
		j := aionOf(si, s.lateness)
		if s.judge == "leopard" {
			j = leopardOf(t, LeopardOptions{Lateness: s.lateness})
		}
		err := Run(t.Context(), Config{Dir: dir, Judge: j, Open: func(_ context.Context, after Places) (Source, error) {
			return Pipe(bytes.NewReader(join(s.lines)), after.Last()), nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if s.want = unnumbered(t, dir); len(s.want) < 20 {
			t.Fatalf("%s: %d violations are too few", s.judge, len(s.want))
		}
		for _, kind := range []string{"file", "pipe", "http", "nats"} {
			t.Run(s.judge+"/"+kind, func(t *testing.T) {
				t.Parallel()
				source := ""
				switch kind {
				case "nats":
					url, js := natsServer(t)
					publish(t, js, s.lines)
					source = url
				case "http":
					source = send(t, s.lines, 1+len(s.lines)/(8*kills))
				default:
					source = filepath.Join(t.TempDir(), "in.jsonl")
					if err := os.WriteFile(source, join(s.lines), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				dir := t.TempDir()
				arg := fmt.Sprintf("%s|%s|%d|%d|%s %s", dir, s.judge, s.lateness, 1+len(s.lines)/(8*kills), kind,
					source)
				midway := killing(t, dir, arg, kills, len(s.want))
				if got := unnumbered(t, dir); !slices.Equal(got, s.want) {
					t.Fatalf("%d violations; expected %d", len(got), len(s.want))
				}
				t.Logf("killed %d times, %d times midway; %d violations", kills, midway, len(s.want))
				if midway == 0 {
					t.Error("never before all had been found")
				}
			})
		}
	}
}

// killing starts and kills a child, and lets the last one find everything; it returns how many were killed before.
func killing(t *testing.T, dir, arg string, kills, all int) (midway int) {
	rng := rand.New(rand.NewPCG(9, 9))
	violations := func() int {
		b, err := os.ReadFile(filepath.Join(dir, "violations.jsonl"))
		if err != nil {
			return 0
		}
		return bytes.Count(b, []byte("\n"))
	}
	for kill := range kills + 1 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ISOVET_WATCH_CHILD="+arg)
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if kill < kills {
			time.Sleep(time.Duration(15+rng.IntN(40)) * time.Millisecond)
		} else {
			for until := time.Now().Add(60 * time.Second); violations() < all && time.Now().Before(until); {
				time.Sleep(20 * time.Millisecond)
			}
			time.Sleep(100 * time.Millisecond) // nothing more comes
		}
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v: %s", err, said.Bytes())
		default:
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		<-ended
		if kill < kills && violations() < all {
			midway++
		}
	}
	return midway
}

// send posts lines to an address, which it returns, again and again until they are taken.
func send(t *testing.T, lines [][]byte, most int) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	ln.Close()
	done := make(chan struct{})
	ctx, stop := context.WithCancel(context.Background())
	t.Cleanup(func() { stop(); <-done })
	go func() {
		defer close(done)
		for at := 0; at < len(lines) && ctx.Err() == nil; {
			n := min(most, len(lines)-at)
			body := bytes.NewReader(join(lines[at : at+n]))
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+addr, body)
			if err != nil {
				return
			}
			r.Header.Set(FromHeader, strconv.Itoa(at))
			resp, err := http.DefaultClient.Do(r)
			if err == nil {
				if resp.StatusCode == http.StatusOK {
					at += n
				}
				resp.Body.Close()
				continue
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	return addr
}
