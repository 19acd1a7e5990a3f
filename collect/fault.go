package collect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// FaultKind is what is done to a server.
type FaultKind uint8

const (
	NoFault   FaultKind = iota
	Kill                // kill -9, and start it again
	Pause               // stop the process for a while
	Partition           // cut a server off from its clients for a while
)

var faultNames = [...]string{"none", "kill", "pause", "partition"}

// Fault is done to a server, a random one of a cluster, every so often, as long as the run lasts. Kill and Pause need a
// server that the run has started; Partition works with any.
type Fault struct {
	Kind  FaultKind
	Every time.Duration
}

func (f Fault) String() string {
	if f.Kind == NoFault {
		return faultNames[NoFault]
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
		d, err := time.ParseDuration(every)
		if err != nil || d <= 0 {
			return Fault{}, fmt.Errorf("fault %q: %q is no duration; expected one such as %s:5s", s, every, name)
		}
		return Fault{k, d}, nil
	}
	if s == "" || s == faultNames[NoFault] {
		return Fault{}, nil
	}
	return Fault{}, fmt.Errorf("unknown fault %q; expected one of %s:DURATION", s, strings.Join(faultNames[Kill:],
		":DURATION, "))
}

// down is how long a server stays dead, paused or cut off.
const down = 300 * time.Millisecond

// breakThings does the fault until done.
func (r *run) breakThings(ctx context.Context, done <-chan struct{}) {
	f := r.cfg.Fault
	if f.Kind == NoFault {
		return
	}
	rng := rand.New(rand.NewPCG(r.cfg.Seed, 0xfa17))
	cl := r.target.cluster
	pause := func(d time.Duration) bool {
		select {
		case <-done:
			return false
		case <-time.After(d):
			return true
		}
	}
	for pause(f.Every) {
		i := rng.IntN(len(r.info.Nodes))
		var err error
		switch f.Kind {
		case Kill:
			cl.Kill(i)
			pause(down)
			// Even when the run is over: whoever comes next needs the server.
			err = cl.Restart(context.WithoutCancel(ctx), i)
		case Pause:
			if err = cl.Pause(i); err == nil {
				pause(down)
				err = cl.Resume(i)
			}
		case Partition:
			r.target.db.Partition(i, true)
			pause(down)
			r.target.db.Partition(i, false)
		}
		if err != nil {
			r.fail(fmt.Errorf("fault %v: %w", f, err))
			return
		}
	}
}
