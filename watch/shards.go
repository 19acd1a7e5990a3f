package watch

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"isovet/check/timestamp"
	"isovet/history"
	"isovet/internal/freeze"
	"isovet/internal/keystore"
	"isovet/internal/safego"
)

// Division says among how many the work on keys is divided. Keys go by their hashes.
type Division struct {
	// Shards is how many goroutines of this process judge keys, besides the one that takes lines; 0 is 1, and with 1
	// that one does it all.
	Shards int
	// Of, if more than 1, is how many processes judge one stream, each from a folder of its own, and Shard, from 0,
	// which of them this is. It judges its part of the keys and of the sessions, and goes by all transactions for how
	// far the stream has got, who is late, ahead, or has come before.
	Shard, Of int
}

// MaxShards bounds both.
const MaxShards = 256

func (d *Division) check() error {
	switch {
	case d.Shards < 0 || d.Shards > MaxShards:
		return fmt.Errorf("%d shards; expected 1 to %d", d.Shards, MaxShards)
	case d.Of < 0 || d.Of > MaxShards || d.Shard < 0 || d.Shard >= max(d.Of, 1):
		return fmt.Errorf("shard %d of %d; expected one of 1 to %d", d.Shard+1, d.Of, MaxShards)
	}
	return nil
}

// part is which of several processes' parts is judged, from 1, and of how many; 0 of 0: there is one process.
func (d *Division) part() (n, of int) {
	if d.Of <= 1 {
		return 0, 0
	}
	return d.Shard + 1, d.Of
}

func (d *Division) divided() bool { return d.Shards > 1 || d.Of > 1 }

func (d *Division) settings() []Setting {
	return []Setting{{"shards", strconv.Itoa(max(d.Shards, 1))},
		{"shard", fmt.Sprintf("%d/%d", d.Shard+1, max(d.Of, 1))}}
}

// portion is one of several parts of all keys, or sessions, by the upper halves of their hashes: a process's, and of
// that a shard's.
type portion struct{ process, of, number, shards uint64 }

func (o *AionOptions) portion(number, shards int) portion {
	return portion{uint64(o.Shard), uint64(max(o.Of, 1)), uint64(number), uint64(shards)}
}

func (p *portion) has(sum uint64) bool {
	x := sum >> 32 * p.of
	return x>>32 == p.process && x&(1<<32-1)*p.shards>>32 == p.number
}

// sub are the bounds of one of those who have what is o's: an equal part of it, in a folder below.
func (o *AionOptions) sub(name string) *Bounds {
	if !o.divided() || o.Memory <= 0 {
		return &o.Bounds
	}
	return &Bounds{Memory: o.Memory / int64(max(o.Shards, 1)+1), Dir: filepath.Join(o.Dir, name)}
}

// load is what a transaction weighs.
type load struct {
	weight int32
	writer bool
}

// weigh finds out what is wanted of a batch where the work is divided among so many.
func (b *Batch) weigh(shards int) {
	if len(b.sums) == len(b.H.Keys) && len(b.loads) == len(b.Heads) {
		return
	}
	b.sums, b.loads = b.sums[:0], b.loads[:0]
	h := b.H
	var buf [64]byte
	for _, k := range h.Keys {
		b.sums = append(b.sums, keystore.Sum(h.Texts.AppendValue(buf[:0], k)))
	}
	for t := range b.Heads {
		l := load{}
		weight := int64(shards) * slotBytes
		for op := h.Txns.OpOff[t]; op < h.Txns.OpOff[t+1]; op++ {
			switch h.Ops.Kind[op] {
			case history.Read:
				weight += timestamp.ReadBytes
			case history.ReadList:
				v := h.Ops.Ver[op]
				weight += timestamp.ReadBytes + 8*int64(h.Lists.Off[v+1]-h.Lists.Off[v])
			default:
				l.writer = true
			}
		}
		l.weight = int32(min(weight, 1<<30))
		b.loads = append(b.loads, l)
	}
}

// slotBytes is what each shard takes for a transaction of the window.
const slotBytes = 40

// Prepare implements Preparing.
func (j *aion) Prepare(b *Batch) {
	if j.team != nil {
		b.weigh(j.team.of)
	}
}

// command is what shards are told, all of them the same, in one order.
type command struct {
	b    *Batch
	mark int64 // sayAdvance, sayTxn: a watermark, behind the transaction; noMark
	i    int32 // sayTxn: the line
	what uint8
}

const (
	sayBatch uint8 = iota
	sayTxn
	sayAdvance
	saySettle
	sayAttach
	sayEvict
	sayNothing // a line that is not understood
)

const noMark = timestamp.NoID

// team judges keys, each in a goroutine while a batch is taken. Whoever takes the lines says what is to be done, and
// does what comes after when all have done it: findings are put in the order in which one alone would have made them.
type team struct {
	of       int // shards
	shards   []*shard
	commands []command
	sent     int
	feeds    []chan []command // nil: nobody has begun
	group    safego.Group
	finals   []tagged // of what is no key's
	chores   []chore
	mark     int64
}

// tagged is a violation with the command that showed it.
type tagged struct {
	timestamp.Final
	command int
	key     string
	sum     uint64
}

// chore is what is to be done when all have done what was said before: one of the four.
type chore struct {
	settle   bool
	upTo     int // violations of commands before this
	patience time.Duration
	found    []Violation
	doubt    []byte
	late     int64 // a transaction that has come late, and where it is
	b        *Batch
	i        int
	arrival  int64 // its number
	latest   int64 // of the judge's times then
}

func newTeam(o *AionOptions) (*team, error) {
	n := max(o.Shards, 1)
	t := &team{of: n, mark: noMark}
	for i := range n {
		s, err := newShard(o, i, n)
		if err != nil {
			return nil, err
		}
		t.shards = append(t.shards, s)
	}
	return t, nil
}

// manyCommands is how many are handed over at once, and few how many lines are not worth goroutines.
const (
	manyCommands = 256
	fewLines     = 32
)

// open begins a batch of so many lines.
func (t *team) open(lines int) {
	if lines < fewLines {
		return
	}
	for _, s := range t.shards {
		feed := make(chan []command, 1+2*lines/manyCommands+4)
		t.feeds = append(t.feeds, feed)
		t.group.Go(func() {
			at := 0
			for some := range feed {
				s.do(some, at)
				at += len(some)
			}
		})
	}
}

// say says what is to be done next.
func (t *team) say(c command) {
	if c.what != sayAdvance {
		c.mark = noMark
	}
	if t.feeds != nil && len(t.commands)-t.sent >= manyCommands {
		t.send()
	}
	t.commands = append(t.commands, c)
}

// advance moves the watermark; of a transaction that was told last, behind it.
func (t *team) advance(mark int64) {
	if mark <= t.mark {
		return
	}
	t.mark = mark
	if n := len(t.commands); n > t.sent && t.commands[n-1].what == sayTxn && t.commands[n-1].mark == noMark {
		t.commands[n-1].mark = mark
		return
	}
	t.say(command{what: sayAdvance, mark: mark})
}

func (t *team) send() {
	some := t.commands[t.sent:len(t.commands):len(t.commands)]
	for _, f := range t.feeds {
		f <- some
	}
	t.sent = len(t.commands)
}

// take takes what the rest has found.
func (t *team) take(a *timestamp.Aion, step uint8) {
	for _, f := range a.Take() {
		f.Step = step
		t.finals = append(t.finals, tagged{Final: f, command: len(t.commands) - 1})
	}
}

// settle has what has been found by now be looked at.
func (t *team) settle(patience time.Duration) {
	if n := len(t.chores); n > 0 && t.chores[n-1].settle && t.chores[n-1].patience == patience {
		t.chores[n-1].upTo = len(t.commands)
		return
	}
	t.chores = append(t.chores, chore{settle: true, upTo: len(t.commands), patience: patience})
}

func (t *team) doubt(ops []byte) { t.chores = append(t.chores, chore{doubt: ops}) }

// finish waits until all is done, and returns what was found, in order.
func (t *team) finish() ([]tagged, error) {
	if t.feeds != nil {
		if t.sent < len(t.commands) {
			t.send()
		}
		for _, f := range t.feeds {
			close(f)
		}
		t.feeds = nil
		t.group.Wait()
	} else {
		for _, s := range t.shards {
			s.do(t.commands, 0)
		}
	}
	all := t.finals
	var err error
	for _, s := range t.shards {
		all = append(all, s.found...)
		s.found = s.found[:0]
		err = errors.Join(err, s.p.err)
	}
	slices.SortStableFunc(all, func(a, b tagged) int {
		return cmp.Or(cmp.Compare(a.command, b.command), a.Order.Compare(b.Order))
	})
	t.finals = all[:0]
	t.commands, t.sent = t.commands[:0], 0
	return all, err
}

// join waits for the team, and does what comes after.
func (j *aion) join() {
	t := j.team
	if t == nil {
		return
	}
	all, err := t.finish()
	j.p.err = errors.Join(j.p.err, err)
	at := 0
	for n := range t.chores {
		switch p := &t.chores[n]; {
		case p.settle:
			for ; at < len(all) && all[at].command < p.upTo; at++ {
				j.settled(all[at].Final, all[at].key, all[at].sum, p.patience)
			}
		case p.found != nil:
			j.found = append(j.found, p.found...)
		case p.b != nil:
			j.explain(wrote(p), func(key uint32) uint64 { return p.b.sums[key] }, p.arrival, p.latest)
		default:
			j.p.doubtAll(p.doubt)
		}
	}
	j.suspects.forget(j.watermark)
	clear(t.chores)
	t.chores = t.chores[:0]
}

// wrote is what a late transaction wrote, its keys being those of the batch.
func wrote(p *chore) *timestamp.Arrival {
	a := &timestamp.Arrival{ID: p.late}
	t, h := p.b.Lines[p.i].Txn, p.b.H
	for op := h.Txns.OpOff[t]; op < h.Txns.OpOff[t+1]; op++ {
		if k := h.Ops.Kind[op]; k == history.Write || k == history.Append {
			v := h.Ops.Ver[op]
			a.Ops = append(a.Ops, timestamp.ArrivalOp{Key: h.VerKey[v], Kind: k, Val: value(h.Texts, h.VerValue(v))})
		}
	}
	return a
}

// checkpoint writes what all know, as of one place in the stream.
func (t *team) checkpoint(dir string) (rest func() error, err error) {
	rests := make([]func() error, len(t.shards))
	err = t.each(func(s *shard) (err error) {
		rests[s.number], err = s.checkpoint(dir)
		return err
	})
	return func() error {
		var err error
		for _, rest := range rests {
			if rest != nil {
				err = errors.Join(err, rest())
			}
		}
		return err
	}, err
}

// each does something with all shards at once.
func (t *team) each(do func(s *shard) error) error {
	errs := make([]error, len(t.shards))
	var group safego.Group
	for i, s := range t.shards {
		group.Go(func() { errs[i] = do(s) })
	}
	group.Wait()
	return errors.Join(errs...)
}

// restoreTeam is Restore; nothing is changed before all is known to be whole.
func (j *aion) restoreTeam(dir string) error {
	t, err := newTeam(&j.o)
	if err != nil {
		return err
	}
	if err := t.each(func(s *shard) error { return s.load(dir) }); err != nil {
		return err
	}
	if err := freeze.Load(filepath.Join(dir, stateFile), j); err != nil {
		return err
	}
	j.team = t
	j.p.later = t.doubt
	if err := j.o.sub("rest").restore(dir, j.store); err != nil {
		return err
	}
	return t.each(func(s *shard) error { return s.bounds.restore(s.folder(dir), s.store) })
}

// stats adds what the shards have counted.
func (t *team) stats(to *Snapshot, a *timestamp.AionStats) (keys, spilled int64) {
	to.Shards = nil
	for _, s := range t.shards {
		x := s.a.Stats()
		a.Flips += x.Flips
		a.Wrong += x.Wrong
		c := ShardCounts{Keys: s.p.keys.Known(), Spilled: s.p.keys.Stored(), Ops: s.ops, Busy: s.busy}
		keys += c.Keys
		spilled += c.Spilled
		to.Shards = append(to.Shards, c)
		s.p.turned.add(&to.Rectified)
	}
	return keys, spilled
}
