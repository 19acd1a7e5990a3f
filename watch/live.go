package watch

import (
	"fmt"
	"sort"

	"isovet/check/mechanism"
	"isovet/history"
	"isovet/internal/keyed"
)

// Live checks the mechanisms of a database in the process that runs the transactions. It needs no lines and no log,
// and no transaction is late. Only one goroutine may use it.
type Live struct {
	o      LeopardOptions
	each   func(line []byte)
	j      leopard
	pieces []*history.History
	first  []int64 // id of each piece's first transaction
	s      Snapshot
}

// NewLive returns a Live that calls each with every violation, as a JSON line without line end, as soon as it is
// certain. It ignores Lateness.
func NewLive(o LeopardOptions, each func(line []byte)) *Live {
	o.Lateness = AllLate
	hash := keyed.Draw()
	l := &Live{o: o, each: each, j: leopard{o: o, stream: mechanism.NewStream(hash), wrote: repeats{hash: hash}}}
	l.s.Violations = map[string]int64{}
	return l
}

// Begin sets the header. It returns an error if neither the options nor the header name a profile.
func (l *Live) Begin(meta history.Meta) error {
	b := history.NewBuilder()
	b.Meta = meta
	h, err := b.Build()
	if err != nil {
		return err
	}
	if err := l.j.start(h); err != nil {
		return err
	}
	l.j.court.recall = l.recall
	return nil
}

// Ended adds transactions that have ended. Their ids must increase by one over all calls, after an initial transaction
// if there is one. No later transaction may begin before mark.
func (l *Live) Ended(h *history.History, mark int64) error {
	j := &l.j
	j.stream.Piece(h)
	j.wrote.begin()
	for t := range uint32(h.NumTxns()) {
		if t != h.Init && (len(l.pieces) == 0 || l.pieces[len(l.pieces)-1] != h) {
			l.pieces, l.first = append(l.pieces, h), append(l.first, h.Txns.ID[t])
		}
		var err error
		if j.buf, err = j.stream.Txn(j.buf[:0], t, uint64(h.Txns.ID[t])); err != nil {
			return err
		}
		if len(j.buf) == 0 {
			continue
		}
		j.wrote.add(h, t, h.Txns.ID[t])
		j.court.origin = min(j.court.origin, j.buf[0].Bef)
		if j.online.Add(j.buf) {
			return fmt.Errorf("transaction %d arrived too late: it begins before the watermark", h.Txns.ID[t])
		}
	}
	j.online.Advance(mark)
	j.collect()
	return l.tell()
}

// Close ends the stream.
func (l *Live) Close() error {
	if l.j.online == nil {
		return nil
	}
	l.j.online.Close()
	l.j.collect()
	return l.tell()
}

func (l *Live) tell() error {
	return l.j.Findings(func(f *Finding) error {
		l.s.Violations[f.Class]++
		l.s.Lines++
		b, err := f.Line(l.s.Lines)
		if err != nil {
			return err
		}
		if isProved(b) {
			l.s.Proved++
		}
		l.each(b)
		return nil
	})
}

// Profile returns the profile, or nil before Begin.
func (l *Live) Profile() *mechanism.Profile { return l.j.court.profile }

// Snapshot returns the counts. Its Lines counts violations.
func (l *Live) Snapshot() Snapshot {
	s := l.s
	l.j.Stats(&s)
	return s
}

func (l *Live) recall(id uint64) (witness, error) {
	p := sort.Search(len(l.first), func(i int) bool { return l.first[i] > int64(id) }) - 1
	h := l.pieces[p]
	t := uint32(int64(id) - l.first[p])
	if h.Init != history.None && h.Init <= t {
		t++
	}
	w := witness{h: h, t: t, id: int64(id), line: int64(id)}
	if s := h.SessName[h.Txns.Sess[t]]; s != history.NoTime {
		w.place = sessionPlace{sess: s, at: int64(id), hasSess: true}
	}
	return w, nil
}
