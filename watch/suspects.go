package watch

import (
	"encoding/json"
	"errors"

	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/internal/bounds"
	"isovet/internal/slice"
	"isovet/watch/online"
)

// Suspect is a read that is wrong so far but may turn out right: its transaction is not final, or a late writer may
// explain it.
type Suspect struct {
	Suspect bool `json:"suspect"` // true
	// Settled is "confirmed" if it became a violation, "withdrawn" if a late transaction explained it, and "" while it
	// waits.
	Settled string `json:"settled,omitempty"`
	Axiom   string `json:"axiom,omitempty"`
	Why     string `json:"why,omitempty"`
	// Mechanism replaces Axiom in suspects of leopard.
	Mechanism string          `json:"mechanism,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Txn       int64           `json:"txn"`
	Other     *int64          `json:"other,omitempty"` // writer of the right version; withdrawn: the late writer
	Key       json.RawMessage `json:"key,omitempty"`
	Op        *uint32         `json:"op,omitempty"`
}

const (
	confirmed = "confirmed"
	withdrawn = "withdrawn"
)

// suspecting is a judge that can report single suspects.
type suspecting interface {
	// Suspects lists the first of the current suspects.
	Suspects(most int) []Suspect
	// SuspectsTold returns the suspects that began to wait for a late writer, and those that were settled, since its
	// last call. If wanted is false, it may return none.
	SuspectsTold(wanted bool) ([]Suspect, error)
}

func suspected(v *Violation, settled string) Suspect {
	return Suspect{Suspect: true, Settled: settled, Axiom: v.Axiom, Why: v.Why, Txn: v.Txn, Other: v.Other, Key: v.Key,
		Op: v.Op}
}

func (j *aion) SuspectsTold(bool) ([]Suspect, error) {
	out := j.told
	j.told = nil
	return out, nil
}

func (j *aion) Suspects(most int) (out []Suspect) {
	for _, x := range j.suspects.queue {
		if !x.done && len(out) < most {
			v := j.violation(&x.f, x.key)
			out = append(out, suspected(&v, ""))
		}
	}
	for _, f := range j.a.Suspects(most - len(out)) {
		if !j.p.doubtful(&f, j.p.keys.Sum(f.Key)) {
			v := j.violation(&f, j.p.keys.Name(f.Key))
			out = append(out, suspected(&v, ""))
		}
	}
	return out
}

// convict turns a suspect into a violation.
func (j *aion) convict(x *suspect) {
	v := j.violation(&x.f, x.key)
	if x.f.Unique && j.wrote.again > 0 || j.lost { // the value may be older than the stream, or of a lost line
		j.told = append(j.told, suspected(&v, withdrawn))
		j.withdrawn++
		return
	}
	j.told = append(j.told, suspected(&v, confirmed))
	j.confirmed++
	j.found = append(j.found, v)
}

// acquit reports that a suspect is not judged because its writer was late.
func (j *aion) acquit(x *suspect, writer int64) {
	v := j.violation(&x.f, x.key)
	v.Why, v.Other = "", &writer
	j.told = append(j.told, suspected(&v, withdrawn))
	j.withdrawn++
	v.Axiom = late
	j.found = append(j.found, v)
}

// suspects has final reads of values that nobody has written yet. For a while a late writer may explain them.
type suspects struct {
	queue []*suspect            // by the end of their waits
	of    map[uint64][]*suspect // suspects by hashes of keys
	n     int
	// written has the writes of late transactions, as long as a transaction that arrived earlier is not final: that
	// one may rightly have read such a version, even after it is forgotten.
	written map[lateWrite]lateBy
	until   []lateUntil
}

// lateWrite is a write of a late transaction. For an append, val is not used: a read of the list may have seen any
// value.
type lateWrite struct {
	key, val uint64 // hashes
	list     bool
}

// lateBy has the writer, the number of its arrival, and the watermark at which the entry is dropped.
type lateBy struct{ id, arrival, until int64 }

// lateUntil is an entry of the queue by watermarks.
type lateUntil struct {
	w    lateWrite
	mark int64
}

// came stores the writes of a late transaction.
func (s *suspects) came(t *timestamp.Arrival, sum func(key uint32) uint64, arrival, latest int64) {
	slice.MakeMap(&s.written)
	t.Writes(func(key uint32, val uint64, list bool) {
		w := lateWrite{sum(key), val, list}
		if list {
			w.val = 0
		}
		s.written[w] = lateBy{t.ID, arrival, latest}
		s.until = append(s.until, lateUntil{w, latest})
	})
}

// wrote returns the late transaction that wrote the version read by f, if it arrived after the reader.
func (s *suspects) wrote(key uint64, f *timestamp.Final) (id int64, is bool) {
	if len(s.written) == 0 || f.Kind == timestamp.Phantom { // a predicate operation is judged when all have arrived
		return 0, false
	}
	by, is := s.written[lateWrite{key: key, val: f.Got}]
	if !is {
		by, is = s.written[lateWrite{key: key, list: true}]
	}
	return by.id, is && f.Arrival < by.arrival
}

// forget drops writes of late transactions when all transactions that arrived before them are final, and the oldest of
// too many.
func (s *suspects) forget(watermark int64) {
	for len(s.until) > 0 && (s.until[0].mark < watermark || len(s.until) > maxLost) {
		if u := s.until[0]; s.written[u.w].until == u.mark {
			delete(s.written, u.w)
		}
		s.until = s.until[1:]
	}
}

type suspect struct {
	f    timestamp.Final // its key has no number now
	key  string
	sum  uint64 // of key
	due  int64
	mark int64 // the watermark when it became final; without early finals, it must pass here before the wait ends
	done bool
}

// maxWaiting bounds the waiting reads. Further ones are not judged, since their writers may be late.
var maxWaiting = 1 << 16

func init() { bounds.Register("watch.maxWaiting", &maxWaiting) }

// add makes a read wait, or returns false if too many do.
func (s *suspects) add(x *suspect) bool {
	if s.n >= maxWaiting || len(s.queue) >= 4*maxWaiting {
		return false
	}
	slice.MakeMap(&s.of)
	s.queue = append(s.queue, x)
	s.of[x.sum] = append(s.of[x.sum], x)
	s.n++
	return true
}

// late settles the reads that a late transaction explains: reads of its writes, of lists to which it appended, and of
// the keys that it wrote by predicate operations that did not return them.
func (s *suspects) late(t *timestamp.Arrival, sum func(key uint32) uint64, explained func(x *suspect)) {
	if s.n == 0 {
		return
	}
	t.Writes(func(key uint32, val uint64, list bool) {
		for _, x := range s.of[sum(key)] {
			if !x.done && (list || x.f.Got == val || x.f.Kind == timestamp.Phantom) {
				s.end(x)
				explained(x)
			}
		}
	})
}

func (s *suspects) end(x *suspect) {
	x.done = true
	s.n--
	s.queue = undone(s.queue)
	if s.of[x.sum] = undone(s.of[x.sum]); len(s.of[x.sum]) == 0 {
		delete(s.of, x.sum)
	}
}

// undone drops the suspects at the beginning whose waits are over.
func undone(all []*suspect) []*suspect {
	for len(all) > 0 && all[0].done {
		all = all[1:]
	}
	return all
}

// expire ends the waits that are over by the clock and by the watermark.
func (s *suspects) expire(clock, mark int64, convict func(x *suspect)) {
	for s.queue = undone(s.queue); len(s.queue) > 0 && s.queue[0].due <= clock && s.queue[0].mark <= mark; {
		x := s.queue[0]
		s.end(x)
		convict(x)
	}
}

func (j *leopard) Suspects(most int) (out []Suspect) {
	if j.online == nil {
		return nil
	}
	for _, d := range j.online.Suspects(most) {
		if s, err := j.suspect(&d); err == nil { // otherwise the log no longer has it
			out = append(out, s)
		}
	}
	return out
}

func (j *leopard) SuspectsTold(wanted bool) (out []Suspect, err error) {
	if j.online == nil {
		return nil, nil
	}
	for _, d := range j.online.TakeSuspects() {
		switch {
		case d.Confirmed:
			j.confirmed++
		case d.Settled:
			j.withdrawn++
		}
		if !wanted {
			continue
		}
		s, err := j.suspect(&d)
		if errors.Is(err, ErrNotKept) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

// suspect returns a waiting or settled read as a Suspect.
func (j *leopard) suspect(d *mechanism.SuspectRead) (Suspect, error) {
	w, err := j.recall(d.Reader)
	if err != nil {
		return Suspect{}, err
	}
	s := Suspect{Suspect: true, Mechanism: mechanism.ConsistentRead.String(), Kind: mechanism.NotVisible, Txn: w.id,
		Key: json.RawMessage(j.stream.Key(d.Key)), Op: &d.Op}
	switch {
	case d.Confirmed:
		s.Settled = confirmed
	case d.Settled:
		s.Settled = withdrawn
	}
	if d.Writer != mechanism.NoTxn {
		by, err := j.recall(d.Writer)
		if err != nil && !errors.Is(err, ErrNotKept) {
			return Suspect{}, err
		}
		if err == nil {
			s.Other = &by.id
		}
	}
	return s, nil
}

func (j *replayJudge) Suspects(most int) (out []Suspect) {
	for _, at := range j.e.Suspects(most) {
		if s, err := j.suspect(at); err == nil { // otherwise the log no longer has it
			out = append(out, s)
		}
	}
	return out
}

func (j *replayJudge) SuspectsTold(wanted bool) (out []Suspect, err error) {
	for _, d := range j.e.TakeSuspects() {
		if !wanted {
			continue
		}
		s, err := j.suspect(d.ReadAt)
		if errors.Is(err, ErrNotKept) {
			continue
		}
		if err != nil {
			return nil, err
		}
		switch {
		case d.Settled && d.Confirmed:
			s.Settled = confirmed
		case d.Settled:
			s.Settled = withdrawn
		}
		if d.Other >= 0 {
			w, err := j.recall(d.Other)
			if err != nil && !errors.Is(err, ErrNotKept) {
				return nil, err
			}
			if err == nil {
				s.Other = &w.id
			}
		}
		out = append(out, s)
	}
	return out, nil
}

func (j *replayJudge) suspect(at online.ReadAt) (Suspect, error) {
	w, err := j.recall(at.Line)
	if err != nil {
		return Suspect{}, err
	}
	s := Suspect{Suspect: true, Axiom: violated, Txn: w.id, Op: w.op(at.Op)}
	if lo, hi := w.h.TxnOps(w.t); lo+at.Op < hi {
		s.Key = json.RawMessage(w.h.KeyString(w.h.VerKey[w.h.Ops.Ver[lo+at.Op]]))
	}
	return s, nil
}
