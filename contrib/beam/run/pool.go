package run

import (
	"context"
	"fmt"
	"io"
	"net"
	"os/exec"
	"sync"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"google.golang.org/grpc"
)

// Pool starts worker processes for runners that ask for them (Beam's environment type EXTERNAL): the worker pool of
// Beam's Fn API. Anybody who reaches its address can have it start and stop workers.
type Pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer

	program string
	stderr  io.Writer
	lis     net.Listener
	server  *grpc.Server

	mu      sync.Mutex
	workers map[string]*process // nil: it is closed
	died    chan struct{}       // closed when a worker ends otherwise than it should; nil: nobody asked
}

type process struct {
	cmd     *exec.Cmd
	done    chan struct{}
	stopped bool // as it was asked for
}

// StartPool listens at an address, and starts the program whenever it is asked for a worker.
func StartPool(addr, program string, stderr io.Writer) (*Pool, error) {
	lis, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	p := &Pool{program: program, stderr: stderr, lis: lis, server: grpc.NewServer(), workers: map[string]*process{}}
	fnpb.RegisterBeamFnExternalWorkerPoolServer(p.server, p)
	go p.server.Serve(lis)
	return p, nil
}

// Addr is where it listens.
func (p *Pool) Addr() string { return p.lis.Addr().String() }

// StartWorker starts a process, as a runner asks.
func (p *Pool) StartWorker(_ context.Context, req *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	fail := func(format string, args ...any) (*fnpb.StartWorkerResponse, error) {
		return &fnpb.StartWorkerResponse{Error: fmt.Sprintf(format, args...)}, nil
	}
	id := req.GetWorkerId()
	args := []string{"--id=" + id}
	for name, d := range map[string]interface{ GetUrl() string }{"control": req.GetControlEndpoint(),
		"logging": req.GetLoggingEndpoint(), "provision": req.GetProvisionEndpoint()} {
		if url := d.GetUrl(); url != "" {
			args = append(args, "--"+name+"_endpoint="+url)
		} else if name != "provision" {
			return fail("worker %q has no %s endpoint", id, name)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.workers == nil {
		return fail("the worker pool is closed")
	}
	if p.workers[id] != nil {
		return fail("there is a worker %q already", id)
	}
	w := &process{cmd: exec.Command(p.program, args...), done: make(chan struct{})}
	w.cmd.Stderr = p.stderr
	if err := w.cmd.Start(); err != nil {
		return fail("cannot start a worker: %v", err)
	}
	p.workers[id] = w
	go func() {
		err := w.cmd.Wait()
		close(w.done)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.workers, id)
		if err != nil && !w.stopped && p.died != nil {
			close(p.died)
			p.died = nil
		}
	}()
	return &fnpb.StartWorkerResponse{}, nil
}

// StopWorker ends a process. One that has ended by itself is no error.
func (p *Pool) StopWorker(_ context.Context, req *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	w := p.workers[req.GetWorkerId()]
	if w != nil {
		w.stopped = true
	}
	p.mu.Unlock()
	if w != nil {
		w.cmd.Process.Kill()
		<-w.done
	}
	return &fnpb.StopWorkerResponse{}, nil
}

// Died returns a channel that is closed when the next worker ends that was not asked to, and not well.
func (p *Pool) Died() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.died == nil {
		p.died = make(chan struct{})
	}
	return p.died
}

// Pids lists the processes of the workers.
func (p *Pool) Pids() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	var pids []int
	for _, w := range p.workers {
		pids = append(pids, w.cmd.Process.Pid)
	}
	return pids
}

// Close ends all workers and the service.
func (p *Pool) Close() {
	p.mu.Lock()
	all := p.workers
	p.workers = nil
	p.mu.Unlock()
	for _, w := range all {
		w.cmd.Process.Kill()
		<-w.done
	}
	p.server.Stop()
}
