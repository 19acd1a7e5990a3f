package collect

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"

	"isovet/collect/driver"
)

// FaultKind is a kind of fault.
type FaultKind uint8

const (
	NoFault   FaultKind = iota
	Kill                // kill -9, and start it again
	Pause               // stop the process for a while
	Partition           // cut a server off from its clients for a while
	Split               // cut a server off from the other servers for a while
	Skew                // set a server's clock
	Scripted            // run the user's program, to break something and to mend it
	Schema              // add and drop indexes and columns while sessions use the tables
	Stall               // stop one process or thread of a server for some milliseconds
	StopAt              // stop one session's process at a function until another session has committed
)

var faultNames = [...]string{"none", "kill", "pause", "partition", "split", "skew", "script", "ddl", "stall", "gdb"}

// Fault is a fault that is repeated during the run, each time on a random server of a cluster. Partition and Scripted
// work with any server, Schema with SQL databases. The others need servers that the run has started. Split also needs
// a cluster on Linux and root; Stall needs Linux; StopAt needs PostgreSQL and gdb; Skew needs faketime's library and a
// server that works with it.
type Fault struct {
	Kind  FaultKind
	Every time.Duration
	// Program is the program for Scripted. Its arguments are "break" or "heal", the server's number from 1, and its
	// URL without the password.
	Program string
	// Function is the server's function for StopAt, whose injections follow each other without a pause.
	Function string
}

func (f Fault) String() string {
	if f.Kind == NoFault {
		return faultNames[NoFault]
	}
	if f.Kind == StopAt {
		return faultNames[StopAt] + ":" + f.Function
	}
	return fmt.Sprintf("%s:%v", faultNames[f.Kind], f.Every)
}

// ParseFault reads a fault such as "kill:5s".
func ParseFault(s string) (Fault, error) {
	name, every, _ := strings.Cut(s, ":")
	for k := Kill; int(k) < len(faultNames); k++ {
		if faultNames[k] != name {
			continue
		}
		if k == StopAt {
			if !functionName.MatchString(every) {
				return Fault{}, fmt.Errorf("fault %q: %q is not the name of a function; expected one such as "+
					"%s:PredicateLockRelation", s, every, name)
			}
			return Fault{Kind: k, Every: time.Millisecond, Function: every}, nil
		}
		d, err := time.ParseDuration(every)
		if err != nil || d <= 0 {
			return Fault{}, fmt.Errorf("fault %q: %q is not a duration; expected one such as %s:5s", s, every, name)
		}
		return Fault{Kind: k, Every: d}, nil
	}
	if s == "" || s == faultNames[NoFault] {
		return Fault{}, nil
	}
	return Fault{}, fmt.Errorf("unknown fault %q; expected one of %s:DURATION, %s:FUNCTION", s,
		strings.Join(faultNames[Kill:StopAt], ":DURATION, "), faultNames[StopAt])
}

// functionName matches the name of a server's function. gdb receives no other text.
var functionName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// Ours reports whether the fault needs a server that the run has started.
func (f Fault) Ours() bool {
	return f.Kind != NoFault && f.Kind != Partition && f.Kind != Scripted && f.Kind != Schema
}

func (f Fault) validate() error {
	if (f.Kind == Scripted) != (f.Program != "") {
		return fmt.Errorf("fault %v with program %q; expected a program for a fault of kind script, and none for "+
			"others", f, f.Program)
	}
	return nil
}

// down is how long a server stays dead, paused or cut off from its clients.
const down = 300 * time.Millisecond

// apart returns how long a server stays cut off from the others, or broken by a program: half of the period, since
// clusters take seconds to notice.
func (f Fault) apart() time.Duration { return max(down, f.Every/2) }

// stalls bounds how long a process or thread is stopped, while it holds its locks or is between two internal steps of
// the server.
const stalls = 50 * time.Millisecond

// skews are the offsets of clocks from which one is drawn each time.
var skews = [...]time.Duration{0, -time.Hour, -30 * time.Second, -time.Second, -50 * time.Millisecond,
	50 * time.Millisecond, time.Second, 30 * time.Second, time.Hour}

// breakThings injects the fault again and again until done is closed.
func (r *run) breakThings(ctx context.Context, done <-chan struct{}) {
	f := r.cfg.Fault
	if f.Kind == NoFault {
		return
	}
	rng := rand.New(rand.NewPCG(r.cfg.Seed, 0xfa17))
	pause := func(d time.Duration) bool {
		select {
		case <-done:
			return false
		case <-time.After(d):
			return true
		}
	}
	if f.Kind == Schema {
		if err := r.changeSchema(ctx, rng, pause); err != nil {
			r.fail(fmt.Errorf("fault %v: %w", f, err))
		}
		return
	}
	for pause(f.Every) {
		if err := r.breakOne(ctx, rng.IntN(len(r.info.Nodes)), rng, pause, done); err != nil {
			r.fail(fmt.Errorf("fault %v: %w", f, err))
			return
		}
	}
	if f.Kind == Skew {
		for i := range r.info.Nodes {
			if err := r.target.cluster.Skew(i, 0); err != nil {
				r.fail(fmt.Errorf("fault %v: %w", f, err))
			}
		}
	}
}

// breakOne injects the fault once. It repairs the server even after the end of the run, since the next run needs it.
func (r *run) breakOne(ctx context.Context, i int, rng *rand.Rand, pause func(time.Duration) bool,
	done <-chan struct{}) error {
	ctx = context.WithoutCancel(ctx)
	cl, f := r.target.cluster, r.cfg.Fault
	switch f.Kind {
	case Kill:
		cl.Kill(i)
		pause(down)
		return cl.Restart(ctx, i)
	case Pause:
		if err := cl.Pause(i); err != nil {
			return err
		}
		pause(down)
		return cl.Resume(i)
	case Partition:
		r.target.DB.Partition(i, true)
		pause(down)
		r.target.DB.Partition(i, false)
	case Split:
		if err := cl.Split(ctx, i, true); err != nil {
			return err
		}
		pause(f.apart())
		return cl.Split(ctx, i, false)
	case Skew:
		return cl.Skew(i, skews[rng.IntN(len(skews))])
	case Stall:
		return cl.Stall(i, rng, time.Millisecond+time.Duration(rng.Int64N(int64(stalls))))
	case StopAt:
		return cl.StopAt(i, rng, f.Function, done, func() func() bool {
			was := r.committed.Load()
			return func() bool { return r.committed.Load() > was }
		})
	case Scripted:
		if err := r.script(ctx, "break", i); err != nil {
			return errors.Join(err, r.script(ctx, "heal", i))
		}
		pause(f.apart())
		return r.script(ctx, "heal", i)
	}
	return nil
}

func (r *run) script(ctx context.Context, what string, i int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.cfg.Fault.Program, what, strconv.Itoa(i+1), driver.Redact(r.target.URLs[i]))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, OneLine(string(out)))
	}
	return nil
}
