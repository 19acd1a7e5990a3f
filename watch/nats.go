package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// NATSOptions are the options of a source of a JetStream subject.
type NATSOptions struct {
	// URL is the server's URL, or several separated by commas.
	URL     string
	Subject string
	// Durable names the consumer.
	Durable string
	// Credentials, if set, is a file with a user's JWT and seed.
	Credentials string
	// Token, if set, is the user's.
	Token string
	TLS   TLSFiles
	// Patience bounds the time for the first connection; 0 means 30 s.
	Patience time.Duration
	Log      *slog.Logger
}

// stream pulls the messages of a JetStream subject with a durable consumer. A line's place is its sequence number
// in the stream.
type stream struct {
	o     NATSOptions
	conn  *nats.Conn
	js    jetstream.JetStream
	name  string
	alone bool // the stream has no other subject: each number is one of its messages
	cfg   jetstream.ConsumerConfig
	cons  jetstream.Consumer // nil: to be made
	made  time.Time          // creation of cons
	at    int64              // place of the last message received
	seen  uint64             // deliveries of this consumer
	last  jetstream.Msg      // the last that Next returned
	size  int                // of the longest message of the last fetch; 0: there was none
	first int64              // the stream's first message, when it was looked at
	since time.Time          // creation of the stream; zero: unknown yet
	bad   Trouble
	// shared says that another process's use of the consumer was reported.
	shared bool
	Losses
}

// NATS returns a source of a JetStream subject whose messages are kept by limits. It acknowledges messages that are
// safe in the log, only so that the server shows the watch's progress. It resumes from the log: it makes the consumer
// anew after the log's last message at the start, and whenever a delivery is missing or the server was away. A
// consumer that is resumed would deliver its unacknowledged messages late, after newer ones. after is the place of the
// log's last line, or 0. If the server fails later, the source waits. It returns an error if it cannot connect at
// first, or if the stream does not exist or is not the log's.
func NATS(ctx context.Context, o NATSOptions, after int64) (Source, error) {
	o.Log, o.Patience = loud(o.Log), cmp.Or(max(o.Patience, 0), 30*time.Second)
	s := &stream{o: o, at: after, bad: Trouble{Log: o.Log}}
	opts := []nats.Option{nats.Name("isovet watch"), nats.MaxReconnects(-1), nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(500 * time.Millisecond), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {})}
	if o.Credentials != "" {
		opts = append(opts, nats.UserCredentials(o.Credentials))
	}
	if o.Token != "" {
		opts = append(opts, nats.Token(o.Token))
	}
	if o.TLS.Any() {
		c, err := o.TLS.Client()
		if err != nil {
			return nil, err
		}
		opts = append(opts, nats.Secure(c))
	}
	begun := time.Now()
	for {
		err := s.connect(ctx, opts)
		if err == nil {
			s.bad.Over("server", s.where())
			return s, nil
		}
		err = fmt.Errorf("%s, subject %s: %w", s.where(), o.Subject, err)
		if !away(err) || time.Since(begun) > o.Patience {
			return nil, err
		}
		s.bad.Is(err)
		if err := s.bad.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// where returns the server's address, without its user.
func (s *stream) where() string {
	var all []string
	for u := range strings.SplitSeq(s.o.URL, ",") {
		if scheme, rest, ok := strings.Cut(u, "://"); ok {
			u = scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
		}
		all = append(all, u)
	}
	return strings.Join(all, ",")
}

// away reports whether an error means that no server answers.
func away(err error) bool {
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.Is(err,
		context.DeadlineExceeded) || errors.Is(err, nats.ErrDisconnected) || errors.Is(err, nats.ErrNoResponders) ||
		errors.Is(err, nats.ErrConnectionReconnecting) || errors.Is(err, jetstream.ErrJetStreamNotEnabled)
}

// connect connects at the start and makes the consumer.
func (s *stream) connect(ctx context.Context, opts []nats.Option) (err error) {
	if s.conn, err = nats.Connect(s.o.URL, opts...); err != nil {
		return err
	}
	if s.js, err = jetstream.New(s.conn); err == nil {
		err = s.find(ctx)
	}
	if err != nil {
		s.conn.Close()
	}
	return err
}

// find finds the stream of the subject, and makes the consumer.
func (s *stream) find(ctx context.Context) (err error) {
	if s.name, err = s.js.StreamNameBySubject(ctx, s.o.Subject); err != nil {
		return err
	}
	s.cfg = jetstream.ConsumerConfig{Durable: s.o.Durable, FilterSubject: s.o.Subject,
		AckPolicy: jetstream.AckAllPolicy, AckWait: time.Minute, MaxAckPending: 1 << 16,
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy}
	return s.restart(ctx)
}

// errOther says that the stream is not that of the log.
var errOther = errors.New("it is another stream, or was created again; expected the stream of the log, or another " +
	"--state folder")

// look asks for the stream's state.
func (s *stream) look(ctx context.Context) error {
	st, err := s.js.Stream(ctx, s.name)
	if err != nil {
		return err
	}
	info := st.CachedInfo()
	s.alone = len(info.Config.Subjects) == 1 && info.Config.Subjects[0] == s.o.Subject
	if last := info.State.LastSeq; int64(last) < s.at {
		return fmt.Errorf("stream %s ends at message %d, but the log has message %d: %w", s.name, last, s.at, errOther)
	}
	if s.at > 0 && !s.since.IsZero() && !s.since.Equal(info.Created) {
		return fmt.Errorf("stream %s began at %s, before at %s: %w", s.name, info.Created, s.since, errOther)
	}
	s.since = info.Created
	s.first = int64(info.State.FirstSeq)
	return nil
}

// gone reports the messages behind the last one received and before place to, if there are any: the server no longer
// has them.
func (s *stream) gone(to int64) {
	if s.at == 0 || to <= s.at+1 {
		return
	}
	s.Lose()
	s.o.Log.Warn("the stream lost messages before watch read them: purged, deleted or over its limits",
		"stream", s.name, "first", s.at+1, "last", to-1)
	s.at = to - 1
}

// restart makes the consumer anew, behind the last message received.
func (s *stream) restart(ctx context.Context) error {
	s.cons = nil
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if err := s.look(ctx); err != nil {
		return err
	}
	s.gone(s.first)
	err := s.js.DeleteConsumer(ctx, s.name, s.cfg.Durable)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	s.cfg.OptStartSeq = uint64(s.at) + 1
	cons, err := s.js.CreateConsumer(ctx, s.name, s.cfg)
	if err == nil {
		s.cons, s.made, s.seen, s.last = cons, cons.CachedInfo().Created, 0, nil
	}
	return err
}

// Next waits for messages, even over restarts of the server.
func (s *stream) Next(ctx context.Context, most int) ([]Line, error) {
	for {
		out, err := s.fetch(ctx, most)
		if len(out) > 0 {
			s.bad.Over("server", s.where())
			return out, nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, errOther), errors.Is(err, nats.ErrConnectionClosed):
			return nil, err
		case err != nil:
			s.cons = nil // its deliveries meanwhile are unknown
			s.bad.Is(err, "server", s.where())
			if err := s.bad.pause(ctx); err != nil {
				return nil, err
			}
			continue
		}
		s.bad.Over("server", s.where())
		if err := Sleep(ctx, 20*time.Millisecond); err != nil {
			return nil, err
		}
	}
}

// fetchBytes is the approximate size of a fetch, estimated from the last messages.
const fetchBytes = 16 << 20

// fetch takes the messages that are ready.
func (s *stream) fetch(ctx context.Context, most int) (out []Line, err error) {
	if !s.conn.IsConnected() {
		return nil, nats.ErrDisconnected
	}
	if s.cons == nil {
		if err := s.restart(ctx); err != nil {
			return nil, err
		}
	}
	got, err := s.cons.FetchNoWait(min(most, max(1, fetchBytes/s.length())))
	if err != nil {
		return nil, err
	}
	s.size = 1
	missing, looked := false, false
	for m := range got.Messages() {
		meta, err := m.Metadata()
		if err != nil {
			s.cons = nil
			return out, err
		}
		at := int64(meta.Sequence.Stream)
		missing = missing || meta.Sequence.Consumer != s.seen+1
		if jumped := s.at > 0 && at > s.at+1; jumped && !missing && !looked {
			info, err := s.cons.Info(ctx)
			looked = err == nil && info.Created.Equal(s.made) && s.look(ctx) == nil
			missing = !looked
		}
		if missing {
			continue // it will be sent again
		}
		s.seen++
		if s.alone {
			s.gone(at)
		} else { // missing numbers may be those of other subjects
			s.gone(min(at, s.first))
		}
		s.at = at
		s.size = max(s.size, len(m.Data()))
		out = append(out, Line{Place: at, Text: m.Data()})
		s.last = m
	}
	if missing {
		if info, err := s.cons.Info(ctx); err == nil && !info.Created.Equal(s.made) && !s.shared {
			s.shared = true
			s.o.Log.Warn("another process uses the same consumer; expected another --durable for each folder",
				"durable", s.cfg.Durable)
		}
		s.cons = nil
		return out, nil
	}
	if err := got.Error(); err != nil && !errors.Is(err, jetstream.ErrNoMessages) && !errors.Is(err,
		nats.ErrTimeout) {
		s.cons = nil
		return out, err
	}
	return out, nil
}

// length returns the expected length of a message.
func (s *stream) length() int {
	if s.size == 0 {
		return fetchBytes / 256 // unknown yet
	}
	return s.size
}

// Done acknowledges all messages up to the last. If an acknowledgement is lost, nothing happens, since the log has the
// place.
func (s *stream) Done() error {
	if s.last != nil && s.cons != nil {
		_ = s.last.Ack()
	}
	s.last = nil
	return nil
}

// Identity implements Identified.
func (s *stream) Identity() string {
	return fmt.Sprintf("stream %s of %s", s.name, s.since.UTC().Format(time.RFC3339Nano))
}

func (s *stream) Close() error {
	if s.conn.IsConnected() {
		_ = s.conn.FlushTimeout(time.Second) // acknowledgements
	}
	s.conn.Close()
	return nil
}
