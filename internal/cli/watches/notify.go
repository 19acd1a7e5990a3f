package watches

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"isovet/internal/cli/console"
	"isovet/watch"
	"isovet/watch/seen"
)

// Notifier reports the state of a watch to the process's supervisor, as sd_notify(3) of systemd does: ready, once the
// log is judged and the source is open; alive, for a watchdog, while the judge makes progress; stopping. Without a
// supervisor it does nothing.
type Notifier struct {
	To       *net.UnixConn // nil: no supervisor
	Watchdog time.Duration // 0: none
	Now      func() time.Time
	quit     chan struct{}
	once     sync.Once
}

// startFor is how much more time the supervisor is asked for, at each progress of the judge, while the log is judged
// at the start.
const startFor = 30 * time.Second

// NewNotifier reads NOTIFY_SOCKET and WATCHDOG_USEC. It returns an error if they are set but unusable.
func NewNotifier(getenv func(string) string) (*Notifier, error) {
	n := &Notifier{Now: time.Now, quit: make(chan struct{})}
	name := getenv("NOTIFY_SOCKET")
	if name == "" {
		return n, nil
	}
	if name[0] == '@' {
		name = "\x00" + name[1:] // the abstract name space
	}
	if pid := getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		// the watchdog is another process's
	} else if usec := getenv("WATCHDOG_USEC"); usec != "" {
		x, err := strconv.ParseInt(usec, 10, 64)
		if err != nil || x <= 0 {
			return nil, console.Usagef("WATCHDOG_USEC %q; expected a number of microseconds", usec)
		}
		n.Watchdog = time.Duration(x) * time.Microsecond
	}
	to, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return nil, console.Usagef("NOTIFY_SOCKET %s: %v", getenv("NOTIFY_SOCKET"), err)
	}
	n.To = to
	return n, nil
}

// run reports until the context ends or close is called. standby says that the watch may be waiting for another
// process's folder.
func (n *Notifier) run(ctx context.Context, m *watch.Metrics, standby bool) {
	if n.To == nil {
		return
	}
	defer func() { _ = n.To.Close() }() // no more reports
	every := 250 * time.Millisecond
	if n.Watchdog > 0 {
		every = min(every, n.Watchdog/4)
	}
	look := time.NewTicker(every)
	defer look.Stop()
	var x Notified
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
			n.say(n.Next(&x, &s, standby)...)
		}
	}
}

// Notified is the state reported so far.
type Notified struct {
	ready, waits           bool
	pinged, extended, busy time.Time
}

// Next returns the messages that are due now. For the watchdog, the watch is alive if the judge waits for lines, or is
// not busy with the same lines for longer than the watchdog's time.
func (n *Notifier) Next(x *Notified, s *watch.Snapshot, standby bool) (out []string) {
	now := n.Now()
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
	stuck := !s.Busy.IsZero() && now.Sub(s.Busy) >= n.Watchdog
	if x.ready && n.Watchdog > 0 && !stuck && now.Sub(x.pinged) >= n.Watchdog/4 {
		x.pinged = now
		out = append(out, "WATCHDOG=1")
	}
	return out
}

// say sends a message. If it is lost, the supervisor will consider the process hung.
func (n *Notifier) say(words ...string) {
	if len(words) > 0 {
		_, _ = n.To.Write([]byte(strings.Join(words, "\n")))
	}
}

// close ends run.
func (n *Notifier) close() { n.once.Do(func() { close(n.quit) }) }

// webhookFlags configure the web hook. Secrets are in files, since everybody can see the command line of a process.
type webhookFlags struct{ address, addressFile, secretFile string }

func (f *webhookFlags) add(fl *pflag.FlagSet) {
	fl.StringVar(&f.address, "webhook", "", "`URL` to which watch posts violations as JSON")
	fl.StringVar(&f.addressFile, "webhook-file", "", "`FILE` with the URL of the webhook, if it is secret")
	fl.StringVar(&f.secretFile, "webhook-secret-file", "", "`FILE` with a token for \"Authorization: Bearer\"")
}

// leastSecret is the least length for a part of a path to count as a secret. Secrets of chat systems have 24 or more
// characters.
const leastSecret = 20

// public refuses an address on the command line that may contain a secret: a user, a query, or a long part of its path
// with digits.
func (f *webhookFlags) public() error {
	u, err := url.Parse(f.address)
	if err != nil || f.address == "" {
		return nil // using it will report the error
	}
	secret := u.User != nil || u.RawQuery != "" || u.Fragment != ""
	for part := range strings.SplitSeq(u.Path, "/") {
		secret = secret || len(part) >= leastSecret && strings.ContainsAny(part, "0123456789")
	}
	if secret {
		return console.Usagef("--webhook: the address seems to contain a secret, and every user of this machine can " +
			"read a command line; put it into a file: --webhook-file FILE, or a token: --webhook-secret-file FILE")
	}
	return nil
}

// open makes the web hook; nil if there is none.
func (f *webhookFlags) open(o seen.WebhookOptions) (*seen.Webhook, error) {
	flag, address := "webhook", f.address
	if f.addressFile != "" {
		text, err := os.ReadFile(f.addressFile)
		if err != nil {
			return nil, console.Usagef("--webhook-file: %v", err)
		}
		flag, address = "webhook-file "+f.addressFile, strings.TrimSpace(string(text))
	}
	tokens, err := readTokens("webhook-secret-file", f.secretFile)
	switch {
	case err != nil:
		return nil, err
	case len(tokens) > 1:
		return nil, console.Usagef("--webhook-secret-file %s: it has %d words; expected one token", f.secretFile,
			len(tokens))
	case len(tokens) > 0:
		o.Token = tokens[0]
	}
	if f.address == "" && f.addressFile == "" {
		return nil, nil
	}
	w, err := seen.NewWebhook(address, o)
	if err != nil {
		return nil, console.Usagef("--%s: %v", flag, err)
	}
	return w, nil
}
