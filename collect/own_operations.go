package collect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"isovet/collect/driver"
	"isovet/collect/sqlwork"
)

// operationLog records operations as Jepsen does: a line for each call and each result, in the order of real time.
type operationLog struct {
	mu    sync.Mutex
	text  bytes.Buffer
	file  *os.File // Config.Partial, if set
	lines int
}

// collectOperations runs a workload whose transactions are operations.
func (r *run) collectOperations(ctx context.Context) (_ *Result, err error) {
	l := &operationLog{}
	if r.cfg.Partial != "" {
		if l.file, err = os.Create(r.cfg.Partial); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, l.file.Close()) }()
	}
	if err := r.ownStatements(ctx, "setup", r.cfg.Own.Setup); err != nil {
		return nil, err
	}
	defer r.tearDown(ctx, &err)
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	own := r.driveOwn(ctx, func(o *ownClient) { o.ops, o.process = l, int(o.c.id) })
	// The last operations run although the time is up.
	if r.err == nil {
		r.stop.Store(false)
		own[0].finish()
		r.disconnect()
	}
	return &Result{Operations: l.text.Bytes(), Interrupted: ctx.Err() != nil, Summary: r.summary()}, r.err
}

// finish runs the workload's last operations.
func (o *ownClient) finish() {
	_, values := o.own.Draw(o.rng)
	for _, t := range o.own.Transactions {
		for end := unclear; t.Last && end == unclear; {
			if !o.c.run(func() ended {
				end = o.attempt(t, values, false)
				return end
			}) {
				return
			}
		}
	}
}

type operation struct {
	o               *ownClient
	f, call, result string // the function, and the values of the call and of the result
}

func (o *ownClient) operate(t *sqlwork.Transaction, values map[string]any) attempt {
	o.own.DrawUniques(values, func() int64 { return o.next.Add(1) })
	call := t.Call(values)
	x := &operation{o, t.Name, call, call}
	x.write("invoke", call)
	return x
}

// write writes a line. If that fails, the run ends.
func (x *operation) write(kind, value string) {
	r, l := x.o.c.r, x.o.ops
	l.mu.Lock()
	from := l.text.Len()
	fmt.Fprintf(&l.text, `{"index": %d, "time": %d, "type": %q, "process": %d, "f": %q, "value": %s}`+"\n", l.lines,
		r.now(), kind, x.o.process, x.f, value)
	l.lines++
	var err error
	if l.file != nil {
		_, err = l.file.Write(l.text.Bytes()[from:])
	}
	l.mu.Unlock()
	if err != nil {
		r.fail(fmt.Errorf("cannot write the recording: %w", err))
	}
}

func (x *operation) Committing() error { return nil }

func (x *operation) Commit(func() error) error {
	x.write("ok", x.result)
	return nil
}

func (x *operation) Abort(rollback func() error) (err error) {
	if rollback != nil {
		err = rollback()
	}
	x.write("fail", x.call)
	return err
}

// Unknown ends the operation with the result that it has if it took effect. Its process ends too, as Jepsen's do, and
// another takes its place.
func (x *operation) Unknown() error {
	x.write("info", x.result)
	x.o.process += x.o.c.r.cfg.Sessions
	return nil
}

// answered keeps the result that the answer to a step gives.
func (x *operation) answered(s *sqlwork.Step, got *driver.Answer) (err error) {
	if s.Some && len(got.Rows) == 0 && got.Affected == 0 {
		return errNothing
	}
	if s.Answer != "" {
		x.result, err = s.Result(got.Rows)
	}
	return err
}
