package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// stream pulls a JetStream subject through a durable consumer; the place of a line is its sequence number in the
// stream.
type stream struct {
	conn *nats.Conn
	js   jetstream.JetStream
	name string
	cfg  jetstream.ConsumerConfig
	cons jetstream.Consumer
	at   int64         // place of the last message received
	seen uint64        // deliveries of this consumer
	last jetstream.Msg // of what Next returned
}

// NATS is a source of a subject of a JetStream server, whose messages are kept by limits. It acknowledges what is safe
// in the log, so that the server shows how far the watch has got; but it is the log that says where to go on: the
// consumer is made anew behind its last message, at the beginning and wherever a delivery is missing. A consumer that
// is resumed would deliver what its predecessor had received and not acknowledged late, behind newer messages. after is
// the place of the last line in the log, 0 if there is none.
func NATS(ctx context.Context, url, subject, durable string, after int64) (Source, error) {
	conn, err := nats.Connect(url, nats.Name("isovet watch"), nats.MaxReconnects(-1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	s, err := openStream(ctx, conn, subject, durable, after)
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s, subject %s: %w", url, subject, err)
	}
	return s, nil
}

func openStream(ctx context.Context, conn *nats.Conn, subject, durable string, after int64) (*stream, error) {
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, err
	}
	name, err := js.StreamNameBySubject(ctx, subject)
	if err != nil {
		return nil, err
	}
	st, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	if last := st.CachedInfo().State.LastSeq; int64(last) < after {
		return nil, fmt.Errorf("stream %s ends at %d, and the log has its message %d: it is another stream than the "+
			"log's", name, last, after)
	}
	s := &stream{conn: conn, js: js, name: name, at: after}
	s.cfg = jetstream.ConsumerConfig{Durable: durable, FilterSubject: subject, AckPolicy: jetstream.AckAllPolicy,
		AckWait:       time.Minute,
		MaxAckPending: 1 << 16, DeliverPolicy: jetstream.DeliverByStartSequencePolicy}
	return s, s.restart(ctx)
}

// restart makes the consumer anew, behind the last message received.
func (s *stream) restart(ctx context.Context) error {
	err := s.js.DeleteConsumer(ctx, s.name, s.cfg.Durable)
	if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
		return err
	}
	s.cfg.OptStartSeq = uint64(s.at) + 1
	s.cons, err = s.js.CreateConsumer(ctx, s.name, s.cfg)
	s.seen = 0
	return err
}

func (s *stream) Next(ctx context.Context, most int) ([]Line, error) {
	for {
		got, err := s.cons.FetchNoWait(most)
		missing := false
		if err == nil {
			var out []Line
			for m := range got.Messages() {
				meta, e := m.Metadata()
				if e != nil {
					return nil, e
				}
				if meta.Sequence.Consumer != s.seen+1 {
					missing = true
				}
				if missing {
					continue // it will come again
				}
				s.seen++
				s.at = int64(meta.Sequence.Stream)
				out = append(out, Line{Place: s.at, Text: m.Data()})
				s.last = m
			}
			if missing {
				if e := s.restart(ctx); e != nil {
					return nil, e
				}
			}
			if err = got.Error(); len(out) > 0 {
				return out, nil
			}
		}
		if err != nil && !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, jetstream.ErrNoMessages) && !errors.Is(err,
			nats.ErrConnectionReconnecting) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// Done acknowledges everything up to the last message.
func (s *stream) Done() error {
	if s.last == nil {
		return nil
	}
	m := s.last
	s.last = nil
	if s.seen == 0 {
		return nil // of a consumer that is gone
	}
	return m.Ack()
}

func (s *stream) Close() error {
	err := s.conn.FlushTimeout(time.Second)
	s.conn.Close()
	return err
}
