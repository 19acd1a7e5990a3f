package run

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
)

// Prism is a job service of Beam's runner Prism: it writes its endpoint to out, and serves until in ends. Prism listens
// on all of the machine's addresses and asks nobody who they are.
func Prism(port int, in io.Reader, out io.Writer) error {
	initialize(false)
	endpoint, err := serve(context.Background(), port)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, endpoint); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, in)
	return err
}

// serve starts Prism in this process. It ends with the process.
func serve(ctx context.Context, port int) (endpoint string, err error) {
	for try := 0; ; try++ {
		at := port
		if at == 0 { // Prism does not say which one it got
			lis, err := net.Listen("tcp", ":0")
			if err != nil {
				return "", err
			}
			at = lis.Addr().(*net.TCPAddr).Port
			lis.Close()
		}
		if err = listen(ctx, at); err == nil {
			return fmt.Sprintf("localhost:%d", at), nil
		}
		if port != 0 || try == 5 {
			return "", err
		}
	}
}

func listen(ctx context.Context, port int) (err error) {
	defer func() {
		if r := recover(); r != nil { // what it does where it cannot listen
			err = fmt.Errorf("Prism: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	_, err = prism.CreateJobServer(ctx, prism.Options{Port: port})
	return err
}

// server is a Prism: in a process of its own, where its end takes nobody with it, or in this one.
type server struct {
	endpoint string
	cmd      *exec.Cmd // nil: in this process
	in       io.Closer
	done     chan struct{}
}

// startPrism starts Prism unless it runs.
func (r *Runner) startPrism(ctx context.Context) error {
	if r.prism != nil && !r.prism.ended() {
		return nil
	}
	r.Close()
	if r.Workers == 0 {
		endpoint, err := serve(ctx, 0)
		if err == nil {
			r.prism = &server{endpoint: endpoint, done: make(chan struct{})}
		}
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	r.prism, err = startPrism(program, r.Stderr)
	return err
}

func startPrism(program string, stderr io.Writer) (*server, error) {
	said := &limited{n: 1 << 16}
	s := &server{cmd: exec.Command(program, "prism"), done: make(chan struct{})}
	in, err := s.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.in, s.cmd.Stderr = in, io.MultiWriter(said, stderr)
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line := make([]byte, 256)
	n, _ := out.Read(line)
	go func() {
		s.cmd.Wait()
		close(s.done)
	}()
	s.endpoint = strings.TrimSpace(string(line[:n]))
	if s.endpoint == "" {
		s.stop()
		return nil, fmt.Errorf("Prism did not start: %s", strings.TrimSpace(said.b.String()))
	}
	return s, nil
}

func (s *server) ended() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

func (s *server) stop() {
	if s.cmd == nil {
		return
	}
	s.in.Close()
	select {
	case <-s.done:
	case <-time.After(time.Second):
		s.cmd.Process.Kill()
		<-s.done
	}
}

// limited keeps the first n bytes.
type limited struct {
	b bytes.Buffer
	n int
}

func (l *limited) Write(p []byte) (int, error) {
	l.b.Write(p[:min(len(p), max(0, l.n-l.b.Len()))])
	return len(p), nil
}
