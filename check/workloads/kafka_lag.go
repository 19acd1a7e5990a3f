package workloads

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"time"

	"isovet/history/operations"
)

// kafkaLag says that a process had not seen the end of a log for Lag seconds or more, when it called a poll at Time.
type kafkaLag struct {
	Time float64 `json:"time"`
	Lag  float64 `json:"lag"`
}

func (l kafkaLag) String() string {
	return fmt.Sprintf("%v at %v", time.Duration(l.Lag*1e9), time.Duration(l.Time*1e9))
}

// lag reports the worst lag in real time, as Jepsen's checker does: for each poll and each key that its process polled
// or was assigned, the time from the first completion that showed an offset above the process's latest one, to the call
// of the poll. An assignment forgets the offsets of other keys, a subscription all.
func (k *kafkaRun) lag() {
	type expiry struct{ offset, time int64 }
	known := map[string][]expiry{} // by key, the latest offset that was known from a time on
	for i, op := range k.each("", operations.OK, operations.Unknown) {
		for _, m := range slices.Concat(k.moved[i].sent, k.moved[i].polled) {
			if op.End != operations.NoTime {
				known[m.key] = append(known[m.key], expiry{m.offset, op.End})
			}
		}
	}
	for _, all := range known {
		slices.SortFunc(all, func(a, b expiry) int { return cmp.Compare(a.time, b.time) })
		for n := 1; n < len(all); n++ {
			all[n].offset = max(all[n].offset, all[n-1].offset)
		}
	}
	latest, worst := map[int64]map[string]int64{}, kafkaLag{} // by process and key, the offset after the last
	for i, op := range k.each("", operations.OK) {
		if !slices.Contains(fs("assign", "subscribe", "poll", "txn"), op.F) || op.Time == operations.NoTime {
			continue
		}
		was, now := latest[op.Process], map[string]int64{}
		switch keys, _ := operations.Items(op.Out); op.F {
		case "assign":
			for _, v := range keys {
				now[keyText(v)] = was[keyText(v)]
			}
		case "poll", "txn":
			maps.Copy(now, was)
			for _, key := range k.moved[i].asked {
				now[key] += 0
			}
			for _, m := range slices.Concat(k.moved[i].sent, k.moved[i].polled) {
				if m.offset >= now[m.key] {
					now[m.key] = m.offset + 1
				}
			}
			for key, next := range now {
				all := known[key]
				n := sort.Search(len(all), func(n int) bool { return all[n].offset >= next })
				if n < len(all) && float64(op.Time-all[n].time)/1e9 > worst.Lag {
					worst = kafkaLag{float64(op.Time) / 1e9, float64(op.Time-all[n].time) / 1e9}
				}
			}
		}
		latest[op.Process] = now
	}
	if len(latest) > 0 { // the history has times
		k.stat("worst-realtime-lag", worst)
	}
}
