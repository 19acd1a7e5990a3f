//go:build !checkonly && !offline

package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"isovet/watch"
)

// notifier tells who supervises the process how a watch is, as sd_notify(3) of systemd does: that it is ready once its
// state is that of the end of the log and its source is there; that the judge gets on with its work, for a watchdog;
// that it ends. Without a supervisor it does nothing.
type notifier struct {
	to       *net.UnixConn // nil: nobody
	watchdog time.Duration // 0: none
	now      func() time.Time
	quit     chan struct{}
	once     sync.Once
}

// notifyEvery is how often it looks whether something is to be told.
const notifyEvery = 250 * time.Millisecond

// startFor is how long a start is asked to be waited for from each moment on at which the judge has got further with
// the log.
const startFor = 30 * time.Second

// newNotifier reads NOTIFY_SOCKET and WATCHDOG_USEC. Errors: they are set, and nothing can be done with them.
func newNotifier(getenv func(string) string) (*notifier, error) {
	n := &notifier{now: time.Now, quit: make(chan struct{})}
	name := getenv("NOTIFY_SOCKET")
	if name == "" {
		return n, nil
	}
	if name[0] == '@' {
		name = "\x00" + name[1:] // of the abstract name space
	}
	if pid := getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		// the watchdog is another process's
	} else if usec := getenv("WATCHDOG_USEC"); usec != "" {
		x, err := strconv.ParseInt(usec, 10, 64)
		if err != nil || x <= 0 {
			return nil, usagef("WATCHDOG_USEC %q; expected a number of microseconds", usec)
		}
		n.watchdog = time.Duration(x) * time.Microsecond
	}
	to, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, usagef("NOTIFY_SOCKET %s: %v", getenv("NOTIFY_SOCKET"), err)
	}
	n.to = to
	return n, nil
}

// run tells until the context ends or close is called. standby: another process may have the folder, and to wait for
// it is all that there is to do.
func (n *notifier) run(ctx context.Context, m *watch.Metrics, standby bool) {
	if n.to == nil {
		return
	}
	defer func() { _ = n.to.Close() }() // nobody is told any more
	every := notifyEvery
	if n.watchdog > 0 {
		every = min(every, n.watchdog/4)
	}
	look := time.NewTicker(every)
	defer look.Stop()
	var x notified
	for {
		select {
		case <-ctx.Done():
			n.say("STOPPING=1", "STATUS=writing a checkpoint")
			<-n.quit
			return
		case <-n.quit:
			n.say("STOPPING=1")
			return
		case <-look.C:
			s := m.Get()
			n.say(n.next(&x, &s, standby)...)
		}
	}
}

// notified is what has been told.
type notified struct {
	ready, waits           bool
	pinged, extended, busy time.Time
}

// next is what there is to tell at a moment. The watchdog is told that all is well if the judge waits for lines, or has
// not been busy with the same ones for as long as the watchdog waits.
func (n *notifier) next(x *notified, s *watch.Snapshot, standby bool) (out []string) {
	now := n.now()
	switch {
	case s.Ready && (!x.ready || x.waits):
		x.ready, x.waits = true, false
		out = append(out, "READY=1", "STATUS=watching")
	case !s.Ready && standby && !x.ready:
		x.ready, x.waits = true, true
		out = append(out, "READY=1", "STATUS=standby, or reading the log")
	case !x.ready && (x.extended.IsZero() || s.Busy != x.busy && now.Sub(x.extended) >= startFor/8):
		x.busy, x.extended = s.Busy, now
		out = append(out, fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", startFor.Microseconds()), "STATUS=reading the log")
	}
	stuck := !s.Busy.IsZero() && now.Sub(s.Busy) >= n.watchdog
	if x.ready && n.watchdog > 0 && !stuck && now.Sub(x.pinged) >= n.watchdog/4 {
		x.pinged = now
		out = append(out, "WATCHDOG=1")
	}
	return out
}

// say sends a message. That it does not arrive is the supervisor's affair, which then thinks that we hang.
func (n *notifier) say(words ...string) {
	if len(words) > 0 {
		_, _ = n.to.Write([]byte(strings.Join(words, "\n")))
	}
}

// close ends run.
func (n *notifier) close() { n.once.Do(func() { close(n.quit) }) }
