package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"isovet/watch"
)

const fetchKey = int16(kmsg.Fetch)

// OnBrokerConnect is called by the client.
func (h hooks) OnBrokerConnect(m kgo.BrokerMetadata, _ time.Duration, _ net.Conn, err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		h.Is(fmt.Errorf("broker %s: %w", net.JoinHostPort(m.Host, fmt.Sprint(m.Port)), err))
	}
}

// partitions lists the partitions of a topic. It also returns the topic's id, which is zero if brokers are too old to
// have one.
func partitions(ctx context.Context, c *kgo.Client, topic string) (id [16]byte, numbers []int32, err error) {
	q := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	q.Topics = append(q.Topics, t)
	q.AllowAutoTopicCreation = false
	for {
		r, err := q.RequestWith(ctx, c)
		if err != nil {
			return id, nil, err
		}
		if len(r.Topics) != 1 {
			return id, nil, fmt.Errorf("%d topics in the answer; expected 1", len(r.Topics))
		}
		err = kerr.ErrorForCode(r.Topics[0].ErrorCode)
		if err == nil {
			for i := range r.Topics[0].Partitions {
				numbers = append(numbers, r.Topics[0].Partitions[i].Partition)
			}
			slices.Sort(numbers)
			return r.Topics[0].TopicID, numbers, nil
		}
		if !kerr.IsRetriable(err) || errors.Is(err, kerr.UnknownTopicOrPartition) {
			return id, nil, err
		}
		if err := pause(ctx); err != nil {
			return id, nil, err
		}
	}
}

func pause(ctx context.Context) error { return watch.Sleep(ctx, 200*time.Millisecond) }

// The special timestamps of a ListOffsets request.
const (
	latest   = -1
	earliest = -2
)

// offsets returns the first or the last offsets of partitions, as a reader of committed messages sees them.
func offsets(ctx context.Context, c *kgo.Client, topic string, numbers []int32, which int64) (map[int32]int64, error) {
	for {
		q := kmsg.NewPtrListOffsetsRequest()
		q.ReplicaID, q.IsolationLevel = -1, 1 // read committed
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = topic
		for _, n := range numbers {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = n, which
			t.Partitions = append(t.Partitions, p)
		}
		q.Topics = append(q.Topics, t)
		r, err := q.RequestWith(ctx, c)
		if err != nil {
			return nil, err
		}
		out := map[int32]int64{}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				if e := kerr.ErrorForCode(p.ErrorCode); e != nil {
					err = fmt.Errorf("partition %d: %w", p.Partition, e)
					continue
				}
				out[p.Partition] = p.Offset
			}
		}
		if err == nil && len(out) != len(numbers) {
			return nil, fmt.Errorf("the offsets of %d partitions in the answer; expected %d", len(out), len(numbers))
		}
		if err == nil {
			return out, nil
		}
		if !kerr.IsRetriable(errors.Unwrap(err)) {
			return nil, err
		}
		if err := pause(ctx); err != nil {
			return nil, err
		}
	}
}

// commit commits offsets for a consumer group without members.
func commit(ctx context.Context, c *kgo.Client, group, topic string, id [16]byte, safe map[int32]int64) error {
	q := kmsg.NewPtrOffsetCommitRequest()
	q.Group, q.Generation = group, -1
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic, t.TopicID = topic, id
	for n, at := range safe {
		p := kmsg.NewOffsetCommitRequestTopicPartition()
		p.Partition, p.Offset = n, at
		t.Partitions = append(t.Partitions, p)
	}
	q.Topics = append(q.Topics, t)
	r, err := q.RequestWith(ctx, c)
	if err != nil {
		return err
	}
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}
