package workloads

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"time"

	"isovet/history/operations"
)

// kafkaLag is how long a process had not seen the end of a log: at least Lag seconds, when it called a poll at Time.
type kafkaLag struct {
	Time    float64 `json:"time"`
	Lag     float64 `json:"lag"`
	Process int64   `json:"process"`
	Key     string  `json:"key"`
}

func (l kafkaLag) String() string {
	if l.Lag == 0 {
		return "0s"
	}
	text := func(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
	return fmt.Sprintf("%v (process %d, key %s, at %v)", text(l.Lag), l.Process, l.Key, text(l.Time))
}

// expiry says that offsets below one were known not to be a log's last from a time on.
type expiry struct{ offset, time int64 }

// expiries returns, for each key, the offsets that completed operations showed, each with the time at which it, or a
// later one, was first known. Both increase.
func (k *kafkaRun) expiries() map[string][]expiry {
	known := map[string][]expiry{}
	for i := range k.h.Ops {
		if op := &k.h.Ops[i]; op.Status != operations.Failed && op.End != operations.NoTime {
			for _, m := range slices.Concat(k.moved[i].sent, k.moved[i].polled) {
				known[m.key] = append(known[m.key], expiry{m.offset, op.End})
			}
		}
	}
	for key, all := range known {
		slices.SortStableFunc(all, func(a, b expiry) int { return cmp.Compare(a.time, b.time) })
		end := int64(-1)
		known[key] = slices.DeleteFunc(all, func(e expiry) bool {
			if e.offset <= end {
				return true
			}
			end = e.offset
			return false
		})
	}
	return known
}

// lag reports the worst lag in real time, as Jepsen's checker does: for each poll and each key that its process polled
// or was assigned, the time from the first completion that showed an offset above the process's latest one, to the call
// of the poll. An assignment forgets the offsets of other keys, a subscription all.
func (k *kafkaRun) lag() {
	known, worst := k.expiries(), kafkaLag{}
	var done []int
	for i := range k.h.Ops {
		if op := &k.h.Ops[i]; op.Status == operations.OK && op.Time != operations.NoTime {
			done = append(done, i)
		}
	}
	if len(done) == 0 {
		return
	}
	slices.SortStableFunc(done, func(a, b int) int { return cmp.Compare(k.h.Ops[a].Return, k.h.Ops[b].Return) })
	latest := map[int64]map[string]int64{} // offsets by process and key; -1: none yet
	for _, i := range done {
		op, was := &k.h.Ops[i], latest[k.h.Ops[i].Process]
		now := map[string]int64{}
		see := func(key string, offset int64) {
			if old, is := now[key]; !is || offset > old {
				now[key] = offset
			}
		}
		switch op.F {
		case "assign":
			keys, _ := operations.Items(op.Out)
			for _, v := range keys {
				see(keyText(v), -1)
				if old, is := was[keyText(v)]; is {
					see(keyText(v), old)
				}
			}
		case "subscribe":
		case "poll", "txn":
			if now = was; now == nil {
				now = map[string]int64{}
			}
			for _, key := range k.moved[i].asked {
				see(key, -1)
			}
			for _, m := range slices.Concat(k.moved[i].sent, k.moved[i].polled) {
				if m.offset >= 0 {
					see(m.key, m.offset)
				}
			}
			for key, offset := range now {
				all := known[key]
				n := sort.Search(len(all), func(n int) bool { return all[n].offset > offset })
				if n == len(all) {
					continue
				}
				l := kafkaLag{float64(op.Time) / 1e9, float64(op.Time-all[n].time) / 1e9, op.Process, key}
				if l.Lag > worst.Lag || l.Lag == worst.Lag && l.Lag > 0 && l.Time == worst.Time && key < worst.Key {
					worst = l
				}
			}
		default:
			continue
		}
		latest[op.Process] = now
	}
	k.stat("worst-realtime-lag", worst)
}
