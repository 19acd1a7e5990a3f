package histories

import (
	"cmp"
	"context"
	"maps"
	"math"
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"isovet/history"
	"isovet/history/format"
	"isovet/history/split"
	"isovet/internal/bounds"
	"isovet/internal/cli/console"
	"isovet/internal/heap"
	"isovet/internal/slice"
)

// spanWindow bounds how far transactions may be from the order of their starts.
var spanWindow = 1 << 18

func init() { bounds.Register("cli.span-window", &spanWindow) }

// statsMemory is the memory for the tables of keys and versions unless --memory sets it.
const statsMemory = 2 << 30

// streamed computes a historyStats batch by batch.
type streamed struct {
	s        historyStats
	sessions map[int64]struct{}
	keys     hashes
	vers     hashes
	initial  bool // what keys held at first counts as written, as there is no initial transaction
	spans    heap.Heap[int64, int64]
	times    overlaps
	reached  int64 // the last start that was handed on

	text, key [][2]uint64
}

// streamStats computes the statistics without having the history in memory.
func streamStats(ctx context.Context, name string, paths []string, from console.Loading, memory int64,
	p *console.Progress) (
	*historyStats, error) {
	set, err := split.Plan(ctx, paths, split.Options{Format: from.Format, RealTime: format.RealTime(from.RealTime),
		Initial: format.InitialValue(from.Initial), Progress: func(done, total int64) {
			p.Step("examining the files, MB", int(done/1e6), int(total/1e6))
		}})
	if err != nil {
		return nil, err
	}
	room := int64(statsMemory)
	if memory > 0 {
		room = max(1<<20, memory/3)
	}
	m := set.Header.Meta
	x := &streamed{sessions: map[int64]struct{}{}, initial: !set.Init, reached: math.MinInt64}
	x.keys.most, x.vers.most = int(room/5/40), int(room*4/5/40)
	x.s = historyStats{History: name, Name: m.Name, DB: m.DB, Isolation: m.Isolation, Workload: m.Workload,
		Note: m.Note}
	err = set.Each(ctx, func(b *split.Batch) error {
		p.Step("counting, transactions", int(b.First), int(set.Txns))
		x.add(b.H)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return x.done(), nil
}

func (x *streamed) add(h *history.History) {
	s := &x.s
	s.Txns += h.NumTxns() - h.Invented()
	s.Invented += h.Invented()
	s.Notes = append(s.Notes, h.Notes...)
	for i, name := range h.SessName {
		switch {
		case name != history.NoTime:
			x.sessions[name] = struct{}{}
		case h.Init == history.None || h.SessTxn[h.SessOff[i]] != h.Init:
			s.Sessions++
		}
	}
	s.Times.have(h)
	x.name(h)
	written := func(v uint32, bit uint8) {
		if h.VerKind[v] != history.Null {
			x.vers.write(x.value(x.key[h.VerKey[v]], h.VerValue(v)), bit)
		}
	}
	for v, k := range h.VerKey {
		x.vers.add(x.value(x.key[k], h.VerValue(uint32(v))))
	}
	if x.initial {
		for _, v := range h.InitVer {
			if v != history.None {
				written(v, wroteFirst)
			}
		}
	}
	initial := s.Initial
	s.count(h, func(v uint32) { written(v, wroteLater) })
	s.Initial = max(s.Initial, initial)
	for t := range uint32(h.NumTxns()) {
		if a, z := h.Start(t), h.End(t); t != h.Init && a != history.NoTime && z != history.NoTime {
			x.spans.Push(a, z)
			if x.spans.Len() > spanWindow {
				x.hand()
			}
		}
	}
}

// hand passes on the stored transaction that began first.
func (x *streamed) hand() {
	start, end := x.spans.Pop()
	if start < x.reached {
		x.s.Times.Unordered = true
	}
	x.reached = max(x.reached, start)
	x.times.add(span{start, end})
}

func (x *streamed) done() *historyStats {
	s := &x.s
	s.Sessions += len(x.sessions)
	s.Unknown -= s.Invented
	s.Keys, s.Versions = x.keys.count(), x.vers.count()
	s.Duplicates = x.vers.twice
	s.Estimated = x.keys.below > 0 || x.vers.below > 0
	s.UniqueValues = s.Duplicates == 0 && !s.Estimated
	if s.Estimated {
		s.Duplicates = 0
	}
	for x.spans.Len() > 0 {
		x.hand()
	}
	x.times.tell(&s.Times)
	return s
}

// name computes the hashes of a batch's texts and keys.
func (x *streamed) name(h *history.History) {
	x.text, x.key = x.text[:0], x.key[:0]
	for t := range h.Texts.Len() {
		b := h.Texts.Text(uint32(t))
		var d xxhash.Digest
		d.ResetWithSeed(0x7e)
		d.Write(b)
		x.text = append(x.text, [2]uint64{xxhash.Sum64(b), d.Sum64()})
	}
	for _, k := range h.Keys {
		x.key = append(x.key, x.value([2]uint64{}, k))
		x.keys.add(x.key[len(x.key)-1])
	}
}

func (x *streamed) value(of [2]uint64, v history.Value) [2]uint64 {
	n := [2]uint64{uint64(v.N), uint64(v.N)}
	if v.Kind == history.String || v.Kind == history.Row {
		n = x.text[v.N]
	}
	for i, by := range [...]uint64{0x9e3779b97f4a7c15, 0xd6e8feb86659fd93} {
		hi, lo := bits.Mul64(of[i]^n[i]^by, by)
		hi, lo = bits.Mul64((hi^lo)+uint64(v.Kind)*0xa0761d6478bd642f+of[i]<<1, by^0xe7037ed1a0b428db)
		of[i] = hi ^ lo
	}
	return of
}

// What is known of a version.
const (
	wroteFirst = 1 << iota // its key held it at first
	wroteLater             // a transaction wrote it
	wroteTwice             // it was written more than once
)

// hashes is a set of things identified by 128 bits of hash, with what is known of each. If there are too many, it keeps
// only the smallest hashes, and estimates the number from them (Bar-Yossef et al., RANDOM 2002: the k minimum values).
type hashes struct {
	in    map[[2]uint64]uint8
	twice int
	most  int
	below uint64 // the hashes in it are below this; 0: all are in it
}

// add adds a thing. Beyond the limit, it drops the greater half of the hashes.
func (s *hashes) add(h [2]uint64) {
	if s.below > 0 && h[0] >= s.below {
		return
	}
	slice.MakeMap(&s.in)
	s.in[h] |= 0 // it is in the set now
	if len(s.in) <= max(1024, s.most) {
		return
	}
	s.below = cmp.Or(s.below, math.MaxUint64)
	for half := len(s.in) / 2; len(s.in) > half; {
		s.below /= 2
		maps.DeleteFunc(s.in, func(h [2]uint64, _ uint8) bool { return h[0] >= s.below })
	}
}

// write marks an added version as written.
func (s *hashes) write(h [2]uint64, bit uint8) {
	was, in := s.in[h]
	if !in {
		return
	}
	if before := was & (wroteFirst | wroteLater); before != 0 && (bit == wroteLater || before&wroteFirst == 0) &&
		was&wroteTwice == 0 {
		was |= wroteTwice
		s.twice++
	}
	s.in[h] = was | bit
}

// count returns how many there are, or an estimate.
func (s *hashes) count() int {
	if s.below == 0 {
		return len(s.in)
	}
	return int(float64(len(s.in)) / (float64(s.below) / math.MaxUint64))
}
