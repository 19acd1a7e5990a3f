package watch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
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

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// life is what a child does: it watches until its source ends, or until it kills itself.
type life struct {
	Dir, Judge string
	Lateness   int64
	Most       int    // lines that it takes every 3 ms
	Kind, At   string // the source
	Total      int    // lines of the source
	Dies       int    // after so many lines it kills itself; 0: never
	After      int    // and so many µs
}

// start starts a child.
func (l life) start(t *testing.T) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	text := must.Get(json.Marshal(l))(t)
	cmd, said := exec.Command(os.Args[0]), &bytes.Buffer{}
	cmd.Env, cmd.Stderr = append(os.Environ(), "ISOVET_WATCH_CHILD="+string(text)), said
	must.OK(t, cmd.Start())
	return cmd, said
}

// run runs a child until it ends, or has killed itself, as it was told to.
func (l life) run(t *testing.T) {
	t.Helper()
	cmd, said := l.start(t)
	if err := cmd.Wait(); (err != nil) != (l.Dies > 0) || said.Len() > 0 {
		t.Fatalf("%+v ended with %v: %s", l, err, said)
	}
}

// live is the child's side.
func (l life) live() error {
	judge, lateness := l.Judge, l.Lateness
	segmentBytes = 50_000
	cfg := Config{Dir: l.Dir, Judge: aionOf(si, lateness), Checkpoint: 4 * time.Millisecond}
	if rest, is := strings.CutSuffix(judge, "-grouped"); is {
		judge = rest
		cfg.Grouped, cfg.ViolationsMax, cfg.Judge = true, groupedMax, groupedJudge(judge, lateness)
	} else if judge == "leopard" {
		j, err := NewLeopard(LeopardOptions{Lateness: lateness})
		if err != nil {
			return err
		}
		cfg.Judge = j
	}
	at := l.At
	cfg.Open = func(ctx context.Context, after Places) (s Source, err error) {
		switch l.Kind {
		case "http":
			var h *HTTPServer
			if h, err = ListenHTTP(HTTPOptions{Addr: at}); err == nil {
				s = &whole{h.Source(after), after.Last(), int64(l.Total) - 1}
			}
		case "pipe":
			var text []byte
			if text, err = os.ReadFile(at); err == nil {
				lines := bytes.SplitAfter(text, []byte("\n"))
				r, w := io.Pipe()
				go func() {
					_, err := w.Write(bytes.Join(lines[after.Last()+1:], nil))
					w.CloseWithError(err)
				}()
				s = Pipe(r, after.Last())
			}
		default:
			s, err = Files(FileOptions{Path: at, Once: true}, after)
		}
		return &doomed{slow{s, l.Most}, l.Dies, time.Duration(l.After) * time.Microsecond}, err
	}
	return Run(context.Background(), cfg)
}

// whole is a source that ends with the line of a place.
type whole struct {
	Source
	at, until int64
}

func (w *whole) Next(ctx context.Context, most int) ([]Line, error) {
	if w.at >= w.until {
		return nil, io.EOF
	}
	lines, err := w.Source.Next(ctx, most)
	for _, l := range lines {
		w.at = max(w.at, l.Place)
	}
	return lines, err
}

// doomed kills the process a while after so many lines, and does not end before.
type doomed struct {
	Source
	left  int
	after time.Duration
}

func (m *doomed) Next(ctx context.Context, most int) ([]Line, error) {
	lines, err := m.Source.Next(ctx, most)
	if m.left == 0 {
		return lines, err
	}
	if m.left -= len(lines); m.left > 0 && err == nil {
		return lines, nil
	}
	kill := func() {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
	}
	if err != nil {
		kill()
		<-ctx.Done()
	}
	time.AfterFunc(m.after, kill)
	m.left = math.MaxInt
	return lines, nil
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
	b := violationsOf(t, dir)
	for line := range bytes.Lines(b) {
		if n := fmt.Sprintf(`"n":%d,`, len(out)+1); !bytes.Contains(line, []byte(n)) {
			t.Fatalf("%s without %s", line, n)
		}
		out = append(out, string(numbered.ReplaceAll(line, nil)))
	}
	slices.Sort(out)
	return out
}

// TestKilled: killed with SIGKILL in the midst of a stream and started again, twice from a file and else once (with
// ISOVET_LONG 200 times), with a checkpoint every few batches, by each judge and from each source: the violations of a
// run that nobody killed, each once.
func TestKilled(t *testing.T) {
	kills := histtest.Long(2, 200)
	type stream struct {
		judge    string
		lateness int64
		lines    [][]byte
		want     []string
	}
	_, lines := arrivals(t, 2, histtest.Long(600, 3000))
	streams := []*stream{{judge: "aion", lateness: 400, lines: lines}}
	m := brokenRun(t, "blindw", "snapshot", "version", 0, histtest.Long(500, 2000))
	// some come late
	streams = append(streams, &stream{judge: "leopard", lateness: m.apart / 3, lines: m.lines})
	for _, s := range streams {
		dir := t.TempDir()
		j := aionOf(si, s.lateness)
		if s.judge == "leopard" {
			j = leopardOf(t, LeopardOptions{Lateness: s.lateness})
		}
		err := Run(t.Context(), Config{Dir: dir, Judge: j, Open: pipeOf(bytes.NewReader(join(s.lines)))})
		must.OK(t, err)
		if s.want = unnumbered(t, dir); len(s.want) < 20 {
			t.Fatalf("%s: %d violations are too few", s.judge, len(s.want))
		}
		kinds := []string{"file", "pipe", "http"}
		if s.judge == "leopard" { // a judge does not know its source
			kinds = kinds[:histtest.Long(1, 3)]
		}
		for i, kind := range kinds {
			kills := max(kills-i, 1)
			most := 1 + len(s.lines)/(8*kills)
			t.Run(s.judge+"/"+kind, func(t *testing.T) {
				t.Parallel()
				source := ""
				switch kind {
				case "http":
					source = send(t, s.lines, most)
				default:
					source = filepath.Join(t.TempDir(), "in.jsonl")
					must.OK(t, os.WriteFile(source, join(s.lines), 0o644))
				}
				l := life{Dir: t.TempDir(), Judge: s.judge, Lateness: s.lateness, Most: most, Kind: kind, At: source,
					Total: len(s.lines)}
				l.killed(t, kills)
				if got := unnumbered(t, l.Dir); !slices.Equal(got, s.want) {
					t.Fatalf("%d violations; expected %d", len(got), len(s.want))
				}
			})
		}
	}
}

// killed has so many children kill themselves, at random places that lie as far apart on average as they all together
// come through the stream, and lets the last one find everything.
func (l life) killed(t *testing.T, kills int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, 9))
	for range kills {
		one := l
		one.Dies, one.After = 1+rng.IntN(l.Total/kills), rng.IntN(4000)
		one.run(t)
	}
	l.run(t)
}

// send posts lines to an address, which it returns, again and again until they are taken.
func send(t *testing.T, lines [][]byte, most int) string {
	ln := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
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
