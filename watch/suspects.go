package watch

import (
	"encoding/json"
	"errors"

	"isovet/check/mechanism"
	"isovet/check/timestamp"
	"isovet/history"
	"isovet/watch/online"
)

// Suspect is a read that is wrong by what has arrived, and may still turn out right: its transaction is not final, or a
// writer that comes late may explain it.
type Suspect struct {
	Suspect bool `json:"suspect"` // true
	// Settled is confirmed, once it is a violation, and withdrawn, once a late transaction has explained it; "":
	// neither.
	Settled string `json:"settled,omitempty"`
	Axiom   string `json:"axiom,omitempty"`
	Why     string `json:"why,omitempty"`
	// of leopard, instead of the axiom
	Mechanism string          `json:"mechanism,omitempty"`
	Kind      string          `json:"kind,omitempty"`
	Txn       int64           `json:"txn"`
	Other     *int64          `json:"other,omitempty"` // who installed what should have been read; withdrawn: the writer
	Key       json.RawMessage `json:"key,omitempty"`
	Op        *uint32         `json:"op,omitempty"`
}

const (
	confirmed = "confirmed"
	withdrawn = "withdrawn"
)

// suspecting is a judge that tells single suspects.
type suspecting interface {
	// Suspects lists those that there are, the first ones.
	Suspects(most int) []Suspect
	// SuspectsTold hands over those that wait for a late writer now, and those that are settled, since it was last
	// called; where they are not wanted it need not make them.
	SuspectsTold(wanted bool) ([]Suspect, error)
}

// suspected tells a violation that may not be one.
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
	for _, f := range j.a.Suspects(nil, most-len(out)) {
		if !j.p.doubtful(&f, j.p.keys.Sum(f.Key)) {
			v := j.violation(&f, j.p.keys.Name(f.Key))
			out = append(out, suspected(&v, ""))
		}
	}
	return out
}

// convict makes a suspect a violation.
func (j *aion) convict(x *suspect) {
	v := j.violation(&x.f, x.key)
	if x.f.Unique && j.wrote.again > 0 { // it may have been there before the stream
		j.told = append(j.told, suspected(&v, withdrawn))
		j.withdrawn++
		return
	}
	j.told = append(j.told, suspected(&v, confirmed))
	j.confirmed++
	j.found = append(j.found, v)
}

// acquit says that a suspect is not judged, as its writer came late.
func (j *aion) acquit(x *suspect, writer int64) {
	v := j.violation(&x.f, x.key)
	v.Why, v.Other = "", &writer
	j.told = append(j.told, suspected(&v, withdrawn))
	j.withdrawn++
	v.Axiom = late
	j.found = append(j.found, v)
}

// suspects are reads that are final, and of what nobody who has arrived wrote: a writer that comes late may explain
// them, for a while.
type suspects struct {
	queue []*suspect            // by when the wait is over
	of    map[uint64][]*suspect // by hashes of keys
	n     int
	// What late transactions have written, as long as transactions are not final that were there before they came: such
	// a one may have read it rightly, though what has come since has made the version forgotten.
	written map[lateWrite]lateBy
	until   []lateUntil
}

// lateWrite is a write of a late transaction; of an append any value may be the one that was read.
type lateWrite struct {
	key, val uint64 // hashes
	list     bool
}

// lateBy says by whom, the number of its arrival, and up to what watermark that is remembered.
type lateBy struct{ id, arrival, until int64 }

// lateUntil is the same in the order of the watermarks.
type lateUntil struct {
	w    lateWrite
	mark int64
}

// came notes what a late transaction has written.
func (s *suspects) came(t *timestamp.Arrival, sum func(key uint32) uint64, arrival, latest int64) {
	if s.written == nil || len(s.until) > maxLost {
		s.written, s.until = map[lateWrite]lateBy{}, nil
	}
	for i := range t.Ops {
		w := lateWrite{key: sum(t.Ops[i].Key)}
		switch t.Ops[i].Kind {
		case history.Write:
			w.val = t.Ops[i].Val
		case history.Append:
			w.list = true
		default:
			continue
		}
		s.written[w] = lateBy{t.ID, arrival, latest}
		s.until = append(s.until, lateUntil{w, latest})
	}
}

// wrote is the late transaction that wrote what was read, if it came behind the reader.
func (s *suspects) wrote(key uint64, f *timestamp.Final) (id int64, is bool) {
	if len(s.written) == 0 {
		return 0, false
	}
	by, is := s.written[lateWrite{key: key, val: f.Got}]
	if !is {
		by, is = s.written[lateWrite{key: key, list: true}]
	}
	return by.id, is && f.Arrival < by.arrival
}

// forget forgets what late transactions wrote that nobody who is not final was there before.
func (s *suspects) forget(watermark int64) {
	n := 0
	for n < len(s.until) && s.until[n].mark < watermark {
		if w := s.until[n].w; s.written[w].until < watermark {
			delete(s.written, w)
		}
		n++
	}
	s.until = s.until[:copy(s.until, s.until[n:])]
}

type suspect struct {
	f    timestamp.Final // its key has no number any more
	key  string
	sum  uint64 // of key
	due  int64
	done bool
}

// maxWaiting bounds those that wait; the first is a violation when there are more.
const maxWaiting = 1 << 16

// add has a read wait, and returns one that is to wait no longer, if there are too many.
func (s *suspects) add(f timestamp.Final, key string, sum uint64, due int64) (out *suspect) {
	if s.of == nil {
		s.of = map[uint64][]*suspect{}
	}
	for i := 0; s.n == maxWaiting; i++ {
		if x := s.queue[i]; !x.done {
			s.end(x)
			out = x
		}
	}
	x := &suspect{f: f, key: key, sum: sum, due: due}
	s.queue = append(s.queue, x)
	s.of[sum] = append(s.of[sum], x)
	s.n++
	return out
}

// late settles what a transaction that has come late explains: reads of what it wrote, and of lists that it appended
// to.
func (s *suspects) late(t *timestamp.Arrival, sum func(key uint32) uint64, explained func(x *suspect)) {
	if s.n == 0 {
		return
	}
	for i := range t.Ops {
		o := &t.Ops[i]
		if o.Kind != history.Write && o.Kind != history.Append {
			continue
		}
		for _, x := range s.of[sum(o.Key)] {
			if !x.done && (o.Kind == history.Append || x.f.Got == o.Val) {
				s.end(x)
				explained(x)
			}
		}
	}
}

func (s *suspects) end(x *suspect) {
	x.done = true
	s.n--
	left := s.of[x.sum][:0:0]
	for _, y := range s.of[x.sum] {
		if !y.done {
			left = append(left, y)
		}
	}
	if s.of[x.sum] = left; len(left) == 0 {
		delete(s.of, x.sum)
	}
}

// expire ends the wait of those that are due by the clock.
func (s *suspects) expire(clock int64, convict func(x *suspect)) {
	n := 0
	for n < len(s.queue) && s.queue[n].due <= clock {
		if x := s.queue[n]; !x.done {
			s.end(x)
			convict(x)
		}
		n++
	}
	s.queue = s.queue[:copy(s.queue, s.queue[n:])]
}

func (j *leopard) Suspects(most int) (out []Suspect) {
	if j.online == nil {
		return nil
	}
	for _, d := range j.online.Suspects(most) {
		if s, err := j.suspect(&d); err == nil { // else it is not kept any more
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

// suspect tells a read that waits for its writer, or what has become of it.
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
		if s, err := j.suspect(at); err == nil { // else it is not kept any more
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

// suspect tells a read that waits for its writer.
func (j *replayJudge) suspect(at online.ReadAt) (Suspect, error) {
	w, err := j.recall(at.Line)
	if err != nil {
		return Suspect{}, err
	}
	s := Suspect{Suspect: true, Axiom: violated, Txn: w.id, Op: &at.Op}
	if lo, hi := w.h.TxnOps(w.t); lo+at.Op < hi {
		s.Key = json.RawMessage(w.h.KeyString(w.h.VerKey[w.h.Ops.Ver[lo+at.Op]]))
	}
	return s, nil
}
