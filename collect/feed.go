package collect

import (
	"sync"
	"time"

	"isovet/check/mechanism"
	"isovet/datasets/workload"
	"isovet/history"
)

// Feed hands what the sessions of a run do to Leopard's pipeline while the run lasts ([Leopard] §IV-C): a client of the
// pipeline each. Config.Feed names it; whoever runs the pipeline verifies the database as it works.
//
//	f := collect.NewFeed(24)
//	…
//	v := mechanism.NewVerifier(24, mechanism.Options{Profile: p, Initial: f.Initial, Duplicates: true})
//	err := f.Pipeline().Run(ctx, v.Dispatch) // until the run is over; one that fails before its first transaction
//	ends with ctx only
//	report := v.Close()
//
// Traces name a key by a number, a version by the unique id of its write, a transaction by a number of its own.
type Feed struct {
	p      *mechanism.Pipeline
	mu     sync.RWMutex
	ids    map[workload.Key]uint32
	loaded []bool // by id: the row was there at first
	txns   uint32
	open   int // clients
	ended  time.Time
	bufs   [][]mechanism.Trace // of each session
}

// absent is the version of a row that is not there, and of a list without elements.
const absent = ^uint64(0)

// NewFeed returns a feed for a run of so many sessions.
func NewFeed(sessions int) *Feed {
	// A queue that never fills: a session that waits for the verifier would be slower than the database.
	return &Feed{p: mechanism.NewPipeline(sessions, mechanism.PipelineOptions{Queue: 1 << 20}),
		ids: map[workload.Key]uint32{}, open: sessions, bufs: make([][]mechanism.Trace, sessions)}
}

// Pipeline returns what merges the sessions' traces.
func (f *Feed) Pipeline() *mechanism.Pipeline { return f.p }

// Initial returns the version that a key holds before everything, for mechanism.Options.
func (f *Feed) Initial(key uint32) uint64 {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.loaded[key] {
		return initial
	}
	return absent
}

// Ended returns when the last session was over; zero: there are some yet.
func (f *Feed) Ended() time.Time {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.ended
}

// close says that a session is over.
func (f *Feed) close(session int) {
	f.p.Client(session).Close()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open--; f.open == 0 {
		f.ended = time.Now()
	}
}

// key numbers a key.
func (f *Feed) key(n int64, tables []workload.Table) uint32 {
	k := workload.Key(n)
	f.mu.RLock()
	id, ok := f.ids[k]
	f.mu.RUnlock()
	if ok {
		return id
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if id, ok = f.ids[k]; !ok {
		id = uint32(len(f.loaded))
		f.ids[k] = id
		t := &tables[k.Table()]
		f.loaded = append(f.loaded, !t.List && k.PK() < int64(t.Rows))
	}
	return id
}

// txn hands over the log's last transaction.
func (f *Feed) txn(session int, l *log, tables []workload.Table) {
	t := &l.txns[len(l.txns)-1]
	f.mu.Lock()
	f.txns++
	id := f.txns
	f.mu.Unlock()
	b := append(f.bufs[session][:0], mechanism.Trace{Kind: mechanism.Begin, Bef: t.start, Aft: t.start,
		Val: uint64(id)})
	version := func(v history.Value) uint64 {
		switch v.Kind {
		case history.Null:
			return absent
		case history.Row:
			return uint64(l.cells[v.N])
		}
		return uint64(v.N)
	}
	for i, o := range l.ops[t.off : t.off+t.n] {
		tr := mechanism.Trace{Bef: o.start, Aft: o.end, Op: uint32(i)}
		if t.access == workload.Alone { // it is the commit too
			if tr.Bef, tr.Aft = t.start, t.end; t.end == history.NoTime {
				tr.Aft = mechanism.Forever
			}
		}
		add := func(kind mechanism.Kind, key history.Value, val uint64) {
			tr.Kind, tr.Key, tr.Val = kind, f.key(key.N, tables), val
			b = append(b, tr)
		}
		switch o.kind {
		case history.Read:
			add(mechanism.Read, o.key, version(o.value))
		case history.Write, history.Append:
			add(mechanism.Write, o.key, version(o.value))
		case history.ReadList:
			last := absent
			if list := l.lists[o.ext]; len(list) > 0 {
				last = uint64(list[len(list)-1].N)
			}
			add(mechanism.Read, o.key, last)
		default:
			rows, writes := l.preds[o.ext].rows, o.kind == history.PredWrite
			if len(rows) == 0 {
				tr.Kind, tr.Val = mechanism.Statement, 1
				if writes {
					tr.Val = 0
				}
				b = append(b, tr)
			}
			for _, r := range rows {
				if !writes {
					add(mechanism.Read, r.key, version(r.old))
					continue
				}
				add(mechanism.LockedRead, r.key, version(r.old))
				add(mechanism.Write, r.key, version(r.new))
			}
		}
	}
	end := mechanism.Trace{Kind: mechanism.Commit, Bef: t.commit, Aft: t.end, Val: uint64(id)}
	switch t.status {
	case history.Aborted:
		end.Kind = mechanism.Abort
	case history.Unknown:
		end.Kind = mechanism.Unknown
	}
	if t.end == history.NoTime {
		end.Aft = mechanism.Forever
	}
	b = append(b, end)
	c := f.p.Client(session)
	for _, tr := range b {
		c.Push(tr)
	}
	c.Flush()
	f.bufs[session] = b
}
