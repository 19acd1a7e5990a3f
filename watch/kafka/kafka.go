// Package kafka reads transactions for package watch from a topic of Kafka, or of a broker with the same protocol.
//
// Each partition is a stream of its own, named by its number; a line's place is its offset. The reader resumes from
// the places in the watch's log, so that the log has each message once, whatever offsets the consumer group has. It
// commits offsets only to show the watch's progress.
//
// It merges partitions by the timestamps of their messages, so that no partition gets far ahead while there is a
// backlog. It does not wait for a partition that is at its end or has been silent for a while.
//
// Experimental: this package may still change.
package kafka

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"isovet/internal/safego"
	"isovet/watch"
)

// Options are the options of a source.
type Options struct {
	Brokers []string // HOST:PORT
	Topic   string
	// Partitions are the partitions to read; nil means all, including new ones.
	Partitions []int32
	// Group, if set, is the consumer group for which the offsets of lines in the log are committed. It has no members.
	Group string
	// SASL is one of Mechanisms, or "".
	SASL, User, Password string
	TLS                  *tls.Config // nil: none
	// Idle bounds the wait for a partition that has more messages; 0 means 5 s.
	Idle time.Duration
	// Patience bounds the time for the first connection; 0 means 30 s.
	Patience time.Duration
	Log      *slog.Logger
}

// Mechanisms are the values of Options.SASL.
var Mechanisms = []string{"plain", "scram-sha-256", "scram-sha-512"}

func (o *Options) mechanism() (sasl.Mechanism, error) {
	switch o.SASL {
	case "plain":
		return plain.Auth{User: o.User, Pass: o.Password}.AsMechanism(), nil
	case "scram-sha-256":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha256Mechanism(), nil
	case "scram-sha-512":
		return scram.Auth{User: o.User, Pass: o.Password}.AsSha512Mechanism(), nil
	}
	return nil, fmt.Errorf("unknown SASL mechanism %q; expected one of %v", o.SASL, Mechanisms)
}

const (
	// fetchBytes bounds a fetch from a broker.
	fetchBytes = 8 << 20
	// heldBytes bounds the fetched messages of all partitions that wait for those of others.
	heldBytes = 64 << 20
	// metadataEvery is the interval at which new partitions are looked for, commitEvery that of commits of offsets.
	metadataEvery = time.Minute
	commitEvery   = 5 * time.Second
)

type source struct {
	o          Options
	client     *kgo.Client
	id         [16]byte // of the topic
	parts      map[int32]*part
	order      []*part // by number
	looked     time.Time
	committed  time.Time
	committing safego.Group
	busy       chan struct{} // room for one commit
	said       watch.Trouble
	watch.Losses
}

type part struct {
	number int32
	name   string
	queue  []*kgo.Record // not passed on
	bytes  int           // of them
	next   int64         // the offset of the next record to come
	safe   int64         // the offset of the next one that is not passed on
	end    int64         // the known end of the partition
	since  time.Time     // its last message, or its begin
	paused bool
}

// Open opens a topic at the places of its partitions in the log. If brokers fail later, the source waits for them. It
// returns an error if no broker answers, there is no such topic, or it is not the topic of the log.
func Open(ctx context.Context, o Options, after watch.Places) (watch.Source, error) {
	o.Idle, o.Patience = cmp.Or(max(o.Idle, 0), 5*time.Second), cmp.Or(max(o.Patience, 0), 30*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	for name := range after {
		if _, err := strconv.ParseInt(name, 10, 32); err != nil {
			return nil, errors.New("the log has lines of another source; expected those of a topic's partitions, or " +
				"another --state folder")
		}
	}
	s := &source{o: o, parts: map[int32]*part{}, busy: make(chan struct{}, 1), said: watch.Trouble{Log: o.Log}}
	opts := []kgo.Opt{kgo.SeedBrokers(o.Brokers...), kgo.ClientID("isovet-watch"), kgo.DisableClientMetrics(),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxBytes(fetchBytes),
		kgo.FetchMaxPartitionBytes(fetchBytes / 8), kgo.MaxConcurrentFetches(4),
		kgo.FetchMaxWait(500 * time.Millisecond), kgo.MetadataMinAge(time.Second), kgo.WithHooks(hooks{&s.said})}
	if o.SASL != "" {
		m, err := o.mechanism()
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.SASL(m))
	}
	if o.TLS != nil {
		opts = append(opts, kgo.DialTLSConfig(o.TLS))
	}
	var err error
	if s.client, err = kgo.NewClient(opts...); err != nil {
		return nil, err
	}
	begin, cancel := context.WithTimeout(ctx, o.Patience)
	defer cancel()
	if err := s.begin(begin, after); err != nil {
		s.client.CloseAllowingRebalance()
		if why := s.said.Why(); why != nil && begin.Err() != nil {
			err = why
		}
		return nil, fmt.Errorf("%v, topic %s: %w", o.Brokers, o.Topic, err)
	}
	return s, nil
}

// begin finds the partitions and their offsets.
func (s *source) begin(ctx context.Context, after watch.Places) error {
	id, numbers, err := partitions(ctx, s.client, s.o.Topic)
	if err != nil {
		return err
	}
	s.id = id
	for _, n := range s.o.Partitions {
		if !slices.Contains(numbers, n) {
			return fmt.Errorf("there is no partition %d; expected those of %v", n, numbers)
		}
	}
	if s.o.Partitions != nil {
		numbers = s.o.Partitions
	}
	for name := range after {
		if n, _ := strconv.ParseInt(name, 10, 32); !slices.Contains(numbers, int32(n)) {
			return fmt.Errorf("the log has messages of partition %d, which is not chosen; expected the partitions of "+
				"the log, or another --state folder", n)
		}
	}
	return s.add(ctx, numbers, after)
}

// add begins to read partitions.
func (s *source) add(ctx context.Context, numbers []int32, after watch.Places) error {
	first, err := offsets(ctx, s.client, s.o.Topic, numbers, earliest)
	if err != nil {
		return err
	}
	end, err := offsets(ctx, s.client, s.o.Topic, numbers, latest)
	if err != nil {
		return err
	}
	from := map[int32]kgo.Offset{}
	for _, n := range numbers {
		p := &part{number: n, name: strconv.Itoa(int(n)), end: end[n], next: first[n], since: time.Now()}
		if last := after.Of(p.name); last >= 0 {
			p.next = last + 1
			switch {
			case p.next > end[n]:
				return fmt.Errorf("partition %d ends at offset %d, but the log has offset %d: it is another topic, "+
					"or was created again; expected the topic of the log, or another --state folder", n, end[n], last)
			case first[n] > p.next:
				s.gone(p, first[n])
				p.next = first[n]
			}
		}
		p.safe = p.next
		s.parts[n] = p
		s.order = append(s.order, p)
		from[n] = kgo.NewOffset().At(p.next)
	}
	slices.SortFunc(s.order, func(a, b *part) int { return int(a.number) - int(b.number) })
	s.client.AddConsumePartitions(map[string]map[int32]kgo.Offset{s.o.Topic: from})
	s.looked = time.Now()
	return nil
}

// gone reports messages that the broker no longer has.
func (s *source) gone(p *part, to int64) {
	s.Lose()
	s.o.Log.Warn("the topic lost messages before watch read them: deleted or over its limits",
		"topic", s.o.Topic, "partition", p.number, "first", p.next, "last", to-1)
}

// Next waits for messages.
func (s *source) Next(ctx context.Context, most int) ([]watch.Line, error) {
	for {
		if out := s.merge(most); len(out) > 0 {
			return out, nil
		}
		if time.Since(s.looked) > metadataEvery {
			if err := s.grown(ctx); err != nil {
				return nil, err
			}
		}
		s.poll(ctx)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// poll stores the fetched messages.
func (s *source) poll(ctx context.Context) {
	wait, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	got := s.client.PollRecords(wait, 4096)
	got.EachPartition(func(f kgo.FetchTopicPartition) {
		p := s.parts[f.Partition]
		if p == nil {
			return
		}
		if f.LastStableOffset >= 0 && len(f.Records) > 0 {
			p.end = max(p.end, f.LastStableOffset)
		}
		for _, r := range f.Records {
			s.record(p, r, f.LogStartOffset)
		}
		if p.bytes > s.limit() && !p.paused {
			s.client.PauseFetchPartitions(map[string][]int32{s.o.Topic: {p.number}})
			p.paused = true
		}
	})
	for _, e := range got.Errors() {
		var loss *kgo.ErrDataLoss
		switch {
		case errors.Is(e.Err, context.DeadlineExceeded), errors.Is(e.Err, context.Canceled),
			errors.Is(e.Err, kgo.ErrClientClosed):
		case errors.As(e.Err, &loss):
			s.Lose()
			s.o.Log.Warn("the brokers have lost messages; watch ignores messages with offsets that it has read",
				"topic", e.Topic, "partition", e.Partition, "error", e.Err)
		default:
			s.said.Is(fmt.Errorf("partition %d: %w", e.Partition, e.Err))
			_ = pause(wait) // the next fetch may fail at once
		}
	}
}

func (s *source) record(p *part, r *kgo.Record, first int64) {
	if r.Offset < p.next {
		return // in the log already
	}
	if first > p.next && r.Offset > p.next {
		s.gone(p, min(first, r.Offset))
	}
	p.next, p.since = r.Offset+1, time.Now()
	if r.Attrs.IsControl() || len(r.Value) == 0 {
		if len(p.queue) == 0 {
			p.safe = p.next
		}
		return
	}
	p.queue = append(p.queue, r)
	p.bytes += len(r.Value) + recordBytes
}

// recordBytes estimates the memory of a record besides its text.
const recordBytes = 256

// limit returns how many bytes of a partition may wait.
func (s *source) limit() int { return max(heldBytes/len(s.order), 128<<10) }

// merge passes on the earliest messages.
func (s *source) merge(most int) (out []watch.Line) {
	for len(out) < most {
		var p *part
		until := int64(1<<63 - 1) // the second one's time
		for _, q := range s.order {
			if len(q.queue) == 0 {
				if q.next >= q.end {
					continue
				}
				if time.Since(q.since) < s.o.Idle {
					return out // more of it will arrive
				}
				continue
			}
			at := q.queue[0].Timestamp.UnixMilli()
			switch {
			case p == nil:
				p = q
			case at < p.queue[0].Timestamp.UnixMilli():
				until, p = p.queue[0].Timestamp.UnixMilli(), q
			default:
				until = min(until, at)
			}
		}
		if p == nil {
			return out
		}
		out = s.hand(out, p, most, until)
	}
	return out
}

// hand appends the messages of a partition up to a time, and at least one.
func (s *source) hand(out []watch.Line, p *part, most int, until int64) []watch.Line {
	n := 0
	for ; n < len(p.queue) && len(out) < most && (n == 0 || p.queue[n].Timestamp.UnixMilli() <= until); n++ {
		r := p.queue[n]
		out = append(out, watch.Line{Place: r.Offset, Text: r.Value, Of: p.name})
		p.safe, p.bytes = r.Offset+1, p.bytes-len(r.Value)-recordBytes
		p.queue[n] = nil
	}
	if p.queue = p.queue[n:]; len(p.queue) == 0 {
		p.queue, p.safe = nil, p.next
	}
	if p.paused && p.bytes < s.limit()/4 {
		s.client.ResumeFetchPartitions(map[string][]int32{s.o.Topic: {p.number}})
		p.paused = false
	}
	return out
}

// Identity implements watch.Identified.
func (s *source) Identity() string {
	if s.id == [16]byte{} {
		return "" // the brokers are too old
	}
	return fmt.Sprintf("topic %s with id %x", s.o.Topic, s.id)
}

// grown looks for new partitions. It returns an error if the topic was created again.
func (s *source) grown(ctx context.Context) error {
	s.looked = time.Now()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	id, numbers, err := partitions(ctx, s.client, s.o.Topic)
	switch none := [16]byte{}; {
	case err != nil:
		return nil // brokers that are away are reported elsewhere
	case id != s.id && id != none && s.id != none:
		return fmt.Errorf("topic %s was created again; expected the topic of the log, or another --state folder",
			s.o.Topic)
	case s.o.Partitions != nil:
		return nil
	}
	numbers = slices.DeleteFunc(numbers, func(n int32) bool { return s.parts[n] != nil })
	if len(numbers) > 0 && s.add(ctx, numbers, nil) == nil {
		s.o.Log.Info("the topic has more partitions", "topic", s.o.Topic, "partitions", numbers)
	}
	return nil
}

// Done commits, from time to time, the offsets of lines that are safe in the log.
func (s *source) Done() error {
	if s.o.Group == "" || time.Since(s.committed) < commitEvery {
		return nil
	}
	s.commit()
	return nil
}

func (s *source) commit() {
	select {
	case s.busy <- struct{}{}:
	default:
		return // a commit is running
	}
	s.committed = time.Now()
	safe, id := map[int32]int64{}, s.id
	for _, p := range s.order {
		safe[p.number] = p.safe
	}
	s.committing.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		if err := commit(ctx, s.client, s.o.Group, s.o.Topic, id, safe); err != nil {
			s.o.Log.Warn("watch could not commit offsets; its log has them", "group", s.o.Group, "error", err)
		}
		<-s.busy
	})
}

func (s *source) Close() error {
	s.committing.Wait()
	if s.o.Group != "" && s.said.Why() == nil {
		s.commit()
		s.committing.Wait()
	}
	s.client.CloseAllowingRebalance()
	return nil
}

// hooks notes when brokers fail, and when they are back.
type hooks struct{ *watch.Trouble }

// OnBrokerE2E is called by the client after each answer of a broker.
func (h hooks) OnBrokerE2E(_ kgo.BrokerMetadata, key int16, e2e kgo.BrokerE2E) {
	if e2e.Err() == nil && key == fetchKey {
		h.Over()
	}
}
