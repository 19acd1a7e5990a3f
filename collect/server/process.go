package server

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"isovet/internal/safego"
)

// process is a running child process. It stores the end of its output for messages.
type process struct {
	cmd   *exec.Cmd
	out   lastBytes
	ended chan struct{}
	group safego.Group
	once  sync.Once
}

// launch starts a command in its own process group, so that an interrupt at the terminal does not reach it.
func launch(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, ended: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	cmd.WaitDelay = time.Second
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.group.Go(func() {
		_ = cmd.Wait() // its output shows the reason
		close(p.ended)
	})
	return p, nil
}

// launchIn is launch in a network namespace; "" means this program's.
func launchIn(space string, cmd *exec.Cmd) (p *process, err error) {
	if space == "" {
		return launch(cmd)
	}
	err = within(space, func() (err error) {
		p, err = launch(cmd)
		return err
	})
	return p, err
}

// kill kills the process and its children at once and waits for their end.
func (p *process) kill() {
	if p == nil {
		return
	}
	p.once.Do(func() { killTree(p.cmd.Process) })
	<-p.ended
	p.group.Wait()
}

// quit asks the process to end at once, and waits a little. PostgreSQL then ends its children, which nobody could
// after its death.
func (p *process) quit() {
	if p == nil || p.cmd.Process.Signal(syscall.SIGQUIT) != nil {
		return
	}
	select {
	case <-p.ended:
	case <-time.After(2 * time.Second):
	}
}

// await waits until the process is ready. It returns an error if the process ends first.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.ended:
			return errors.New("it has ended")
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// lastBytes is a writer that stores only the end of what is written.
type lastBytes struct {
	mu sync.Mutex
	b  []byte
}

func (l *lastBytes) Write(b []byte) (int, error) {
	const most = 8192
	l.mu.Lock()
	defer l.mu.Unlock()
	l.b = append(l.b, b...)
	if len(l.b) > 2*most {
		l.b = append(l.b[:0], l.b[len(l.b)-most:]...)
	}
	return len(b), nil
}

func (l *lastBytes) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.b)
}
