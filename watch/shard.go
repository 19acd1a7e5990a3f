package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"isovet/check/timestamp"
	"isovet/internal/freeze"
	"isovet/internal/keystore"
)

// shard judges some of the keys. It is one goroutine's at a time.
type shard struct {
	a      *timestamp.Aion
	p      *parser
	number int             `freeze:"-"` // of those in this process
	store  *keystore.Store `freeze:"-"`
	bounds *Bounds         `freeze:"-"`
	room   int64           `freeze:"-"`
	found  []tagged        `freeze:"-"`
	ops    int64
	busy   time.Duration `freeze:"-"`
	b      *Batch        `freeze:"-"`
}

// newShard makes shard i of n in this process. Errors: options that cannot be.
func newShard(o *AionOptions, i, n int) (*shard, error) {
	opts := o.Options
	opts.Share = timestamp.Keys
	a, err := timestamp.NewAion(opts)
	if err != nil {
		return nil, err
	}
	s := &shard{a: a, number: i, bounds: o.sub(fmt.Sprint(i)), room: 1 << 62}
	if o.Memory > 0 {
		s.room = o.shares().state * 3 / 4 / int64(n)
	}
	s.store = s.bounds.store()
	s.p = newParser(a, s.store)
	s.p.share, s.p.part = timestamp.Keys, o.portion(i, n)
	return s, nil
}

// do does what is said, the first of it being command at of the batch.
func (s *shard) do(some []command, at int) {
	begun := time.Now()
	defer func() { s.busy += time.Since(begun) }()
	for n := range some {
		c := &some[n]
		switch c.what {
		case sayBatch:
			s.b = c.b
			s.p.begin(c.b)
		case sayTxn:
			s.txn(s.b, int(c.i))
		case saySettle:
			s.a.Settle()
		case sayAttach:
			s.a.Attach()
		case sayEvict:
			s.evict()
		}
		if c.mark != noMark {
			s.a.Advance(c.mark)
		}
		for _, f := range s.a.Take() {
			s.found = append(s.found, tagged{Final: f, command: at + n, key: s.p.keys.Name(f.Key),
				sum: s.p.keys.Sum(f.Key)})
		}
	}
}

func (s *shard) txn(b *Batch, i int) {
	l := &b.Lines[i]
	p, h, head := s.p, b.H, &b.Heads[l.Txn]
	a := p.head(head, l.N-p.first)
	p.ops(h, h.Txns.OpOff[l.Txn], h.Txns.OpOff[l.Txn+1])
	s.ops += int64(len(a.Ops))
	if head.Init {
		p.holds(a)
		return
	}
	a.Writer = b.loads[l.Txn].writer
	s.a.Add(a)
}

// evict lets keys go that are idle, if memory is short.
func (s *shard) evict() {
	used := func() int64 {
		return s.a.Bytes() + s.p.keys.Bytes() -
			int64(s.p.keys.Numbers()-s.p.keys.Len())*(timestamp.KeyBytes+keystore.NumberBytes)
	}
	if s.store == nil {
		return
	}
	err := s.p.compact()
	if err == nil && used() > s.room {
		_, err = s.p.keys.Evict(func() bool { return used() > s.room-s.room/8 }, s.p.saveKey, s.a.DropKey)
	}
	if err != nil {
		s.p.err = err
	}
}

// folder is where a checkpoint has the shard.
func (s *shard) folder(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("shard-%d", s.number))
}

func (s *shard) checkpoint(dir string) (rest func() error, err error) {
	dir = s.folder(dir)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	if err := freeze.Save(filepath.Join(dir, stateFile), s); err != nil {
		return nil, err
	}
	return keysCheckpoint(s.store, dir), nil
}

func (s *shard) load(dir string) error {
	return freeze.Load(filepath.Join(s.folder(dir), stateFile), s)
}
