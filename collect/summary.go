package collect

import (
	"cmp"
	"slices"
	"time"

	"isovet/history"
)

// Summary summarises a run.
type Summary struct {
	DB, Isolation, Workload     string
	Nodes                       []string
	Sessions                    int
	Committed, Aborted, Unknown int
	Elapsed                     time.Duration
	Templates                   []Template // by name
	Aborts                      []Abort    // reasons of attempts that did not commit, the most frequent first
	// SchemaChanges and SchemaRefused are for faults of kind Schema: the numbers of changes made, and of changes that
	// the database refused, for example because they waited too long for a lock.
	SchemaChanges, SchemaRefused int
	// OtherPlan describes the database's plan if it differs from the plan that the workload requires; otherwise it is
	// "".
	OtherPlan string
	// Missed are the statements of the user's own workload that were not recorded, with numbers and reasons.
	Missed []string
}

// Rate returns the number of commits a second.
func (s *Summary) Rate() float64 {
	if s.Elapsed <= 0 {
		return 0
	}
	return float64(s.Committed) / s.Elapsed.Seconds()
}

// AbortRate returns the share of attempts that the database or the client aborted.
func (s *Summary) AbortRate() float64 { return Share(s.Aborted, s.Committed+s.Aborted+s.Unknown) }

func Share(part, all int) float64 {
	if all == 0 {
		return 0
	}
	return float64(part) / float64(all)
}

// Template is a kind of transaction of the workload.
type Template struct {
	Name                        string
	Committed, Aborted, Unknown int
	P50, P99                    time.Duration // durations of committed ones, from begin to the commit's answer
}

// AbortRate returns the share of aborted attempts.
func (t *Template) AbortRate() float64 { return Share(t.Aborted, t.Committed+t.Aborted+t.Unknown) }

// summary counts the transactions of the logs. Attempts that were refused before their first operation are only in the
// totals.
func (r *run) summary() Summary {
	s := Summary{
		DB: r.info.Name, Isolation: r.info.Isolation, Workload: r.what, Sessions: r.cfg.Sessions,
		Elapsed:   time.Since(r.epoch),
		Committed: int(r.committed.Load()), Aborted: int(r.aborted.Load()), Unknown: int(r.unknown.Load()),
		Aborts: r.aborts(), SchemaChanges: int(r.changes.made.Load()), SchemaRefused: int(r.changes.refused.Load()),
	}
	for _, n := range r.info.Nodes {
		s.Nodes = append(s.Nodes, n.Name)
	}
	if r.cfg.Rotate != nil {
		s.Templates = r.tallied()
	}
	index := map[string]int{}
	var times [][]int64
	for _, c := range r.clients {
		for i := range c.log.txns {
			if r.cfg.Rotate != nil {
				break // they are counted already
			}
			t := &c.log.txns[i]
			k, ok := index[t.name]
			if !ok {
				k = len(times)
				index[t.name] = k
				times = append(times, nil)
				s.Templates = append(s.Templates, Template{Name: t.name})
			}
			switch t.status {
			case history.Committed:
				s.Templates[k].Committed++
				times[k] = append(times[k], t.end-t.start)
			case history.Aborted:
				s.Templates[k].Aborted++
			case history.Unknown:
				s.Templates[k].Unknown++
			}
		}
	}
	for k, d := range times {
		slices.Sort(d)
		s.Templates[k].P50, s.Templates[k].P99 = quantile(d, 0.5), quantile(d, 0.99)
	}
	slices.SortFunc(s.Templates, func(a, b Template) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

// quantile returns the value below which a share q of the sorted times lies.
func quantile(sorted []int64, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return time.Duration(sorted[min(int(q*float64(len(sorted))), len(sorted)-1)])
}
