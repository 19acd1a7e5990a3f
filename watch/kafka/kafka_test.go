package kafka

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"isovet/internal/test/must"
	"isovet/watch"
)

const topic = "txns"

// brokers starts one inside the process.
func brokers(t *testing.T, o ...kfake.Opt) *kfake.Cluster {
	t.Helper()
	return must.Get(kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, o...)...))(t)
}

func client(t *testing.T, c *kfake.Cluster, o ...kgo.Opt) *kgo.Client {
	t.Helper()
	k := must.Get(kgo.NewClient(append(o, kgo.SeedBrokers(c.ListenAddrs()...),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(topic))...))(t)
	t.Cleanup(k.Close)
	return k
}

// message is one of a partition at a time, in ms.
func message(partition int32, at int64, text string) *kgo.Record {
	return &kgo.Record{Partition: partition, Timestamp: time.UnixMilli(at), Value: []byte(text)}
}

func produce(t *testing.T, k *kgo.Client, all ...*kgo.Record) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	must.OK(t, k.ProduceSync(ctx, all...).FirstErr())
}

// said is a log that can be read while it is written.
type said struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// take takes n lines, and moves the places on.
func take(t *testing.T, src watch.Source, after watch.Places, n int) (texts []string) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	defer stop()
	for len(texts) < n {
		lines := must.Get(src.Next(ctx, 100))(t)
		for _, l := range lines {
			if l.Place <= after.Of(l.Of) {
				t.Fatalf("%s at %d of partition %s comes after %d", l.Text, l.Place, l.Of, after.Of(l.Of))
			}
			after[l.Of] = l.Place
			texts = append(texts, string(l.Text))
		}
		must.OK(t, src.Done())
	}
	return texts
}

func open(t *testing.T, c *kfake.Cluster, after watch.Places, o Options) (watch.Source, *said) {
	t.Helper()
	s := &said{}
	o.Brokers, o.Topic, o.Log = c.ListenAddrs(), topic, slog.New(slog.NewTextHandler(s, nil))
	src := must.Get(Open(t.Context(), o, after))(t)
	return src, s
}

// TestMerge: what stands in three partitions comes in the order of its times, though a fourth one is empty; each
// message once, over restarts; the group shows how far it has got.
func TestMerge(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(4, topic))
	defer c.Close()
	k := client(t, c)
	var all []*kgo.Record
	const n = 900
	for i := range n {
		all = append(all, message(int32(i*i%3), int64(1000+i), strconv.Itoa(i)))
	}
	produce(t, k, all...)
	after := watch.Places{}
	var got []string
	for len(got) < n {
		src, log := open(t, c, after, Options{Group: "isovet", Idle: time.Minute})
		got = append(got, take(t, src, after, min(250, n-len(got)))...)
		must.OK(t, src.Close())
		must.Equal(t, log.String(), "", "what is said")
	}
	for i, text := range got {
		must.Equal(t, text, strconv.Itoa(i), "message %d", i)
	}
	q := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "isovet"
	q.Groups = append(q.Groups, g)
	r, err := q.RequestWith(t.Context(), k)
	must.Hold(t, err == nil && len(r.Groups) == 1 && len(r.Groups[0].Topics) == 1, "%v, %+v", err, r)
	total := int64(0)
	for _, p := range r.Groups[0].Topics[0].Partitions {
		total += p.Offset
	}
	must.Equal(t, total, after.Of("0")+after.Of("1")+2, "where the group is in all: %+v", r)
	if _, err := Open(t.Context(), Options{Brokers: c.ListenAddrs(), Topic: "other", Patience: 5 * time.Second},
		nil); err == nil || !strings.Contains(err.Error(), "UNKNOWN_TOPIC") {
		t.Errorf("a topic that there is not: %v", err)
	}
	for _, wrong := range []watch.Places{{"0": 5000}, {"7": 1}, {"": 3}, {"@1.2.3": 4}} {
		if src, err := Open(t.Context(), Options{Brokers: c.ListenAddrs(), Topic: topic}, wrong); err == nil {
			src.Close()
			t.Errorf("%v are no places of the topic", wrong)
		}
	}
}

// TestIdle: a partition of which nothing comes though there is more is waited for, but not for ever.
func TestIdle(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(2, topic))
	defer c.Close()
	k := client(t, c)
	produce(t, k, message(0, 1, "first"), message(1, 2, "second"))
	src, _ := open(t, c, nil, Options{Idle: 300 * time.Millisecond})
	defer src.Close()
	s := src.(*source)
	s.parts[1].end = 10 // of which nothing comes
	after := watch.Places{}
	take(t, src, after, 2)
	produce(t, k, message(0, 3, "third"))
	must.Equal(t, take(t, src, after, 1)[0], "third", "the message")
}

// TestBrokerAway: a broker that is stopped and started again costs and doubles nothing, and both are reported.
func TestBrokerAway(t *testing.T) {
	dir := t.TempDir()
	c := brokers(t, kfake.SeedTopics(2, topic), kfake.DataDir(dir))
	_, port, err := net.SplitHostPort(c.ListenAddrs()[0])
	must.OK(t, err)
	number := must.Get(strconv.Atoi(port))(t)
	k := client(t, c)
	produce(t, k, message(0, 1, "a"), message(1, 2, "b"))
	src, log := open(t, c, nil, Options{Idle: 100 * time.Millisecond})
	defer src.Close()
	after := watch.Places{}
	take(t, src, after, 2)
	c.Close()
	for !strings.Contains(log.String(), "fails") {
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		lines, err := src.Next(ctx, 10)
		stop()
		must.Equal(t, err, context.DeadlineExceeded, "%d lines", len(lines))
	}
	c = brokers(t, kfake.DataDir(dir), kfake.Ports(number))
	defer c.Close()
	produce(t, k, message(0, 3, "c"), message(1, 4, "d"))
	got := take(t, src, after, 2)
	if fmt.Sprint(got) != "[c d]" && fmt.Sprint(got) != "[d c]" || after.Of("0") != 1 || after.Of("1") != 1 {
		t.Errorf("%v, %v", got, after)
	}
	for _, what := range []string{"fails", "works again"} {
		must.Equal(t, strings.Contains(log.String(), what), true, "it is said that it %s: %s", what, log)
	}
}

// TestGone: messages that were deleted before they were read are reported.
func TestGone(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, topic))
	defer c.Close()
	k := client(t, c)
	var all []*kgo.Record
	for i := range 20 {
		all = append(all, message(0, int64(i), strconv.Itoa(i)))
	}
	produce(t, k, all...)
	must.OK(t, c.DeleteRecords(topic, 0, 12))
	after := watch.Places{"0": 4}
	src, log := open(t, c, after, Options{})
	defer src.Close()
	must.Equal(t, take(t, src, after, 8)[0], "12", "the first message")
	must.Equal(t, strings.Contains(log.String(), "first=5 last=11"), true, "it is said: %s", log)
}

// TestMadeAgain: a topic that is deleted and created again ends the source.
func TestMadeAgain(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, topic))
	defer c.Close()
	k := client(t, c)
	produce(t, k, message(0, 1, "a"))
	src, _ := open(t, c, nil, Options{Partitions: []int32{0}})
	defer src.Close()
	take(t, src, watch.Places{}, 1)
	was := src.(watch.Identified).Identity()
	src.(*source).id[0]++
	must.Be(t, was != "" && was != src.(watch.Identified).Identity(), "the topic is %q", was)
	src.(*source).looked = time.Time{}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	if _, err := src.Next(ctx, 10); err == nil || !strings.Contains(err.Error(), "created again") {
		t.Error(err)
	}
}

// TestBehind: what a watch does not take stays with the brokers.
func TestBehind(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(2, topic))
	defer c.Close()
	k := client(t, c, kgo.ProducerBatchMaxBytes(1<<20))
	pad := strings.Repeat("x", 100_000)
	const n = 1200 // 120 MB in partition 0, before one message of partition 1
	for i := 0; i < n; i += 100 {
		var all []*kgo.Record
		for j := range 100 {
			all = append(all, message(0, int64(i+j+10), pad))
		}
		produce(t, k, all...)
	}
	src, _ := open(t, c, nil, Options{Idle: time.Hour})
	defer src.Close()
	s := src.(*source)
	s.parts[1].end = 1 // waited for, and nothing comes
	most := 0
	for more := 3; more > 0; { // a few times after it has enough
		if lines := s.merge(10); len(lines) > 0 {
			t.Fatalf("%d lines, and partition 1 has not been waited for", len(lines))
		}
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		s.poll(ctx)
		stop()
		most = max(most, s.parts[0].bytes+int(s.client.BufferedFetchBytes()))
		if s.parts[0].paused {
			more--
		}
	}
	must.Equal(t, most > heldBytes, false, "%d bytes are held; expected up to %d", most, heldBytes)
	s.parts[1].end = 0 // of which nothing is waited for any more
	take(t, src, watch.Places{}, n)
}

// TestLogin: with a name and a password, over TLS or not.
func TestLogin(t *testing.T) {
	for _, mechanism := range Mechanisms {
		c := brokers(t, kfake.SeedTopics(1, topic), kfake.EnableSASL(),
			kfake.Superuser(strings.ToUpper(mechanism), "me", "secret"))
		o := Options{Brokers: c.ListenAddrs(), Topic: topic, SASL: mechanism, User: "me", Password: "secret",
			Patience: time.Minute}
		must.OK(t, must.Get(Open(t.Context(), o, nil))(t).Close())
		o.Password, o.Patience = "wrong", 300*time.Millisecond
		if src, err := Open(t.Context(), o, nil); err == nil {
			src.Close()
			t.Errorf("%s: a wrong password is taken", mechanism)
		} else if strings.Contains(err.Error(), "wrong") {
			t.Errorf("%s: the password is said: %v", mechanism, err)
		}
		c.Close()
	}
}

// TestBrokenBatch: of a fetch whose last batch is not as it says, the messages before it are kept.
func TestBrokenBatch(t *testing.T) {
	c := brokers(t, kfake.SeedTopics(1, topic))
	defer c.Close()
	k := client(t, c)
	produce(t, k, message(0, 1, "a"))
	produce(t, k, message(0, 2, "b"))
	var none bytes.Buffer
	must.OK(t, gzip.NewWriter(&none).Close())
	broken := kmsg.RecordBatch{Length: int32(49 + none.Len()), Magic: 2, Attributes: 1, ProducerID: -1,
		ProducerEpoch: -1, FirstSequence: -1, NumRecords: 1, Records: none.Bytes()} // Attributes: gzip
	raw := broken.AppendTo(nil)
	binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	q := kmsg.NewPtrProduceRequest()
	q.Acks, q.TimeoutMillis = -1, 5000
	qt := kmsg.NewProduceRequestTopic()
	qt.Topic, qt.TopicID = topic, c.TopicInfo(topic).TopicID
	qp := kmsg.NewProduceRequestTopicPartition()
	qp.Records = raw
	qt.Partitions = append(qt.Partitions, qp)
	q.Topics = append(q.Topics, qt)
	r := must.Get(q.RequestWith(t.Context(), k))(t)
	must.Equal(t, r.Topics[0].Partitions[0].ErrorCode, 0, "the broker's answer")
	src, log := open(t, c, nil, Options{})
	defer src.Close()
	must.Equal(t, fmt.Sprint(take(t, src, watch.Places{}, 2)), "[a b]", "messages; %s", log)
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	_, err := src.Next(ctx, 10)
	must.Equal(t, err, context.DeadlineExceeded, "of the broken batch")
	must.Equal(t, strings.Count(log.String(), "\n"), 2, "reports: %s", log)
}
