package watch

import (
	"fmt"
	"math"
	"slices"
	"time"

	"isovet/history"
	"isovet/internal/keyed"
	"isovet/internal/slice"
)

// GateOptions are the options by which every judge accepts lines.
type GateOptions struct {
	// Once drops duplicates. It recognises a transaction by its id or, without one, by its place in its session. It
	// remembers at least the last million transactions.
	Once bool
	// MaxJump bounds how far a transaction's time may be ahead of the other transactions and of the clock; 0 means no
	// bound. A transaction further ahead goes to quarantine.
	MaxJump time.Duration
	// Patience is how long, by the clock, an unexplained read waits for a late writer before it becomes a violation.
	// The wait also ends at the end of the stream.
	Patience time.Duration
	// Hash hashes values and the contents of transactions. If it is nil, a key is drawn, and checkpoints contain it.
	Hash *keyed.Key
}

func (o GateOptions) hash() *keyed.Key {
	if o.Hash != nil {
		return o.Hash
	}
	return keyed.Draw()
}

func (o GateOptions) settings() []Setting {
	return []Setting{{"once", fmt.Sprint(o.Once)}, {"max-jump", o.MaxJump.String()}, {"patience", o.Patience.String()}}
}

// gate filters lines before they are judged: it drops duplicates and puts lines far ahead of all others into
// quarantine. Its decisions depend only on the lines and the clock in the log.
type gate struct {
	o    GateOptions `freeze:"-"`
	hash *keyed.Key
	unit Unit
	// relative says that times do not count from 1970. votes has the first times, by which the unit and this are
	// detected.
	relative bool
	votes    []int64
	// moment returns the time of a transaction that is compared with others, or false if it has none.
	moment     func(h *history.TxnHead) (int64, bool) `freeze:"-"`
	seen       seen
	front      frontier                     // of the passed lines
	pace       pace                         `freeze:"flat"`
	quarantine quarantine                   `freeze:"flat"`
	start      firstLines                   `freeze:"flat"`
	bad        func(place int64, err error) `freeze:"-"` // of the current call of Take
	count      gateCounts                   `freeze:"flat"`
	found      []Violation
}

// pace compares the times of a stream with the clock.
type pace struct {
	clock int64   // ns since 1970; 0: unknown
	told  int64   // clock when front last moved
	jump  int64   // the greatest accepted step between neighbours in the order of arrival
	rate  float64 // greatest rate: timestamps a second of the clock
	rated ahead   // clock and front when rate was last updated
}

// quarantine has the lines that are too far ahead.
type quarantine struct {
	held   []heldLine
	passed int            // lines since the first of held
	since  map[int64]bool // sessions since then → one of their lines is held
	free   bool           // the held lines may be released
}

// firstLines has the first transactions of the stream (see gate_first.go): those that wait, the number of those with
// times, those to pass on, and those that went to quarantine.
type firstLines struct {
	first       []heldLine
	timed       int
	learned     bool
	ready, away []heldLine `freeze:"-"`
}

// gateCounts counts duplicates, clock jumps, and lines released from quarantine.
type gateCounts struct{ dups, jumps, freed int64 }

// heldLine is a line in quarantine.
type heldLine struct {
	n, place int64
	at       int64
	text     []byte
	id       int64
	who      int64
	timed    bool // for one of the first transactions
}

// maxHeld bounds the lines in quarantine. Further ones are not judged at all.
const maxHeld = 1 << 12

// maxSince bounds the sessions that are counted while lines are in quarantine.
const maxSince = 4 * maxHeld

// fate is the gate's decision about a line.
type fate uint8

const (
	pass fate = iota
	again
	held
	waiting // for other first transactions
)

// learning is the number of timed lines that show the usual steps; only then can a jump be too far. enoughHeld is the
// number of lines in quarantine, more than have passed since, from which on the database itself must have jumped.
const (
	learning   = 4
	enoughHeld = 8
	usual      = 64      // a jump of so many times the greatest so far is normal
	fewTicks   = 1 << 20 // a jump of so many timestamps is normal, if they are no times
)

// who returns the session of a transaction, as frontier.add needs it.
func (g *gate) who(h *history.TxnHead, n int64) int64 {
	if h.HasSess {
		return h.Session
	}
	return math.MinInt64 + n // a new session each time
}

// look decides about a transaction. It returns an error if a different transaction had the same id.
func (g *gate) look(b *Batch, i int) (fate, error) {
	l := &b.Lines[i]
	h := &b.Heads[l.Txn]
	if g.o.Once {
		if i%nearby == 0 {
			g.seen.fetch(b.Heads[l.Txn:min(int(l.Txn)+nearby, len(b.Heads))])
		}
		if same, other := g.seen.add(h, g.print(b, l.Txn)); same {
			g.count.dups++
			return again, nil
		} else if other {
			return again, fmt.Errorf("transaction %d: a different transaction with this id arrived before; expected "+
				"unique ids", h.ID)
		}
	}
	if h.Init {
		return pass, nil
	}
	at, ok := g.moment(h)
	if ok {
		g.detect(at)
	}
	who := g.who(h, l.N)
	switch {
	case g.o.MaxJump > 0 && !g.start.learned:
		g.early(b, i, at, who, ok)
		return waiting, nil
	case !ok:
		return pass, nil
	case g.o.MaxJump > 0 && at > g.bound():
		g.hold(b, i, at, who)
		return held, nil
	}
	if v, any := g.front.value(); any && at > v {
		g.pace.jump = max(g.pace.jump, plus(at, -v))
	}
	g.front.add(who, at)
	g.pace.told = g.pace.clock
	if len(g.quarantine.held) > 0 {
		g.quarantine.passed++
		if _, known := g.quarantine.since[who]; !known && len(g.quarantine.since) < maxSince {
			g.quarantine.since[who] = false
		}
	}
	return pass, nil
}

// admit sends a line through the gate. It first calls before, unless nil, with the line's head. If the gate puts the
// line into quarantine, it calls away, and if the line passes, in. It returns the line's error or in's, or one about
// another transaction with the same id.
func (g *gate) admit(b *Batch, i int, header []byte, before func(h *history.TxnHead), away func(b *Batch, i int),
	in func(b *Batch, i int) error) error {
	l := &b.Lines[i]
	switch {
	case l.comesAgain(header, b.Text(i)):
		return nil
	case l.Err != nil || l.Txn == history.None:
		return l.Err
	}
	if before != nil {
		before(&b.Heads[l.Txn])
	}
	switch what, err := g.look(b, i); {
	case err != nil:
		return err
	case what == held:
		away(b, i)
		return nil
	case what == again || what == waiting:
		return nil
	}
	return in(b, i)
}

// detect finds the unit, and whether times count from 1970, by the majority of the first three times.
func (g *gate) detect(at int64) {
	if g.unit != UnitUnknown && !g.relative || g.pace.clock == 0 || len(g.votes) == 3 {
		return
	}
	if g.votes = append(g.votes, at); len(g.votes) < 3 {
		return
	}
	slices.Sort(g.votes)
	u := detect(g.votes[1], g.pace.clock)
	if g.unit == UnitUnknown {
		g.unit = u
	}
	g.relative = g.relative && g.unit != u
}

// now returns the clock in units of the timestamps, or false if these are not times.
func (g *gate) now() (int64, bool) {
	if g.pace.clock == 0 || g.relative {
		return 0, false
	}
	return g.unit.ticks(time.Duration(g.pace.clock))
}

// bound returns the latest time that passes the gate.
func (g *gate) bound() int64 {
	base, any := g.front.value()
	if !any {
		return math.MaxInt64
	}
	by := g.reach()
	if now, ok := g.now(); ok {
		base = max(base, now)
	}
	return plus(base, by)
}

// reach returns how far ahead of the others a transaction may be.
func (g *gate) reach() int64 {
	by := max(int64(fewTicks), usual*min(g.pace.jump, math.MaxInt64/usual))
	if d, ok := g.unit.ticks(g.o.MaxJump); ok {
		if by = d; g.count.freed > 0 {
			by = max(by, usual*min(g.pace.jump, math.MaxInt64/usual))
		}
	}
	if idle := float64(g.pace.clock-g.pace.told) / float64(time.Second); idle > 0 && g.pace.rate > 0 {
		by = plus(by, int64(min(4*g.pace.rate*idle, math.MaxInt64/2)))
	}
	return by
}

// hold puts a line into quarantine and reports it.
func (g *gate) hold(b *Batch, i int, at, who int64) {
	q, l := &g.quarantine, &b.Lines[i]
	g.isolate(heldLine{n: l.N, place: l.Place, at: at, text: slices.Clone(b.Text(i)), id: b.idOf(i), who: who},
		g.front.all[1])
	theirs := 0
	for _, one := range q.since {
		if one {
			theirs++
		}
	}
	q.free = len(q.held) >= enoughHeld && len(q.held) > q.passed && 2*theirs >= len(q.since)
}

// isolate puts a line into quarantine, unless that is full, and reports it. last is the time of the others.
func (g *gate) isolate(x heldLine, last int64) {
	q := &g.quarantine
	if len(q.held) == 0 {
		q.passed, q.since = 0, map[int64]bool{}
	}
	g.count.jumps++
	g.found = append(g.found, Violation{Axiom: jumped, Txn: x.id, Why: fmt.Sprintf("%d ahead", plus(x.at, -last))})
	if q.since[x.who] = true; len(q.held) < maxHeld {
		q.held = append(q.held, x)
	}
}

// released returns the lines in quarantine that may pass, in the order of arrival. They may if so many sessions are
// ahead that the database itself has jumped. Lines far ahead of these stay in quarantine.
func (g *gate) released() *Batch {
	if !g.quarantine.free {
		return nil
	}
	g.quarantine.free = false
	times := slice.Map(g.quarantine.held, func(l heldLine) int64 { return l.at })
	slices.Sort(times)
	last := times[0]
	for _, at := range times {
		if at > plus(last, g.reach()) {
			break
		}
		last = at
	}
	var stay, free []heldLine
	for _, l := range g.quarantine.held {
		if l.at > last {
			stay = append(stay, l)
			continue
		}
		if v, any := g.front.value(); any {
			g.pace.jump = max(g.pace.jump, plus(l.at, -v))
		}
		free = append(free, l)
	}
	out := batchOf(free)
	g.count.freed += int64(len(free))
	g.quarantine.held, g.quarantine.passed, g.quarantine.since = stay, 0, map[int64]bool{}
	for _, l := range stay {
		g.quarantine.since[l.who] = true
	}
	for i := range out.Lines {
		h := &out.Heads[out.Lines[i].Txn]
		at, _ := g.moment(h)
		g.front.add(g.who(h, out.Lines[i].N), at)
	}
	g.pace.told = g.pace.clock
	return out
}

func (g *gate) tick(now int64) {
	g.pace.clock = max(g.pace.clock, now)
	v, any := g.front.value()
	if !any {
		return
	}
	if !g.pace.rated.any {
		g.pace.rated = ahead{g.pace.clock, v, true}
	} else if d := g.pace.clock - g.pace.rated.who; d >= int64(time.Second) {
		g.pace.rate = max(g.pace.rate, float64(v-g.pace.rated.at)/(float64(d)/float64(time.Second)))
		g.pace.rated = ahead{g.pace.clock, v, true}
	}
}

// take returns the lines that went to quarantine since its last call. The result is valid until the next line.
func (g *gate) take() []Violation {
	out := g.found
	g.found = g.found[:0]
	return out
}

// time converts a time of the stream to a time.Time; zero means unknown.
func (g *gate) time(at int64) time.Time {
	if g.pace.clock == 0 || g.relative {
		return time.Time{}
	}
	return g.unit.moment(at)
}

func (g *gate) counts() []Count {
	n := &g.count
	return []Count{
		{"duplicates_total", "counter", "Duplicates of transactions, ignored.", "duplicates", n.dups},
		{"jumps_total", "counter", "Transactions too far ahead, put into quarantine.", "clock jumps", n.jumps},
		{"quarantine", "gauge", "Transactions in quarantine.", "in quarantine", int64(len(g.quarantine.held))},
	}
}

// seen is the set of transactions that have arrived, in two halves: when the newer half is full, the older one is
// dropped. An entry has 64 bits that identify the transaction, such as its scrambled id, and a keyed hash of its
// content.
type seen struct {
	table [2]prints
	n     int
	half  int    `freeze:"-"` // size of a half; 0: halfSeen
	near  uint64 `freeze:"-"` // see fetch
}

// prints is a hash table from scrambled keys to fingerprints. Fingerprint 0 marks a free entry.
type prints struct {
	keys   []uint64
	prints []uint64
}

// halfSeen is the number of transactions in a half.
const halfSeen = 1 << 20

// key returns the key of a transaction, or false if the transaction has neither an id nor a place in a session.
func (s *seen) key(h *history.TxnHead) (uint64, bool) {
	switch {
	case h.HasID:
		return keyed.Scramble(uint64(h.ID)), true
	case h.HasSess && h.HasSeq:
		return keyed.Scramble(keyed.Scramble(uint64(h.Session)) + uint64(h.Seq) + 1), true
	}
	return 0, false
}

// nearby is the number of transactions whose entries fetch loads at once.
const nearby = 64

// fetch reads the entries that add will need for some transactions, so that the processor loads them in parallel into
// its caches, which are far smaller than the tables. It changes nothing.
func (s *seen) fetch(heads []history.TxnHead) {
	sum := uint64(0)
	for i := range heads {
		key, ok := s.key(&heads[i])
		if !ok {
			continue
		}
		for k := range s.table {
			if t := &s.table[k]; len(t.keys) > 0 {
				at := key & uint64(len(t.keys)-1)
				sum += t.keys[at] + t.prints[at]
			}
		}
	}
	s.near = sum
}

// add adds a transaction. same says that this transaction has arrived before, other that a different one with its id
// has. Both are false if the transaction has no key.
func (s *seen) add(h *history.TxnHead, print uint64) (same, other bool) {
	key, ok := s.key(h)
	if !ok {
		return false, false
	}
	print = max(1, print)
	for k := range s.table {
		if was := s.table[k].find(key); was != 0 {
			return was == print, was != print && h.HasID
		}
	}
	if half := s.half; s.n >= half && (half > 0 || s.n >= halfSeen) {
		s.table[1], s.table[0], s.n = s.table[0], prints{}, 0
	}
	s.table[0].grow(s.n)
	s.table[0].put(key, print)
	s.n++
	return false, false
}

// slot returns the place of a key, or the free one where it belongs.
func (t *prints) slot(key uint64) uint64 {
	mask := uint64(len(t.keys) - 1)
	i := key & mask
	for t.prints[i] != 0 && t.keys[i] != key {
		i = (i + 1) & mask
	}
	return i
}

// find returns the fingerprint of a key, or 0.
func (t *prints) find(key uint64) uint64 {
	if len(t.keys) == 0 {
		return 0
	}
	return t.prints[t.slot(key)]
}

// grow enlarges the table if it needs space for entry n+1.
func (t *prints) grow(n int) {
	if 4*n < 3*len(t.keys) {
		return
	}
	old := *t
	size := max(1024, 2*len(old.keys))
	*t = prints{make([]uint64, size), make([]uint64, size)}
	for i, p := range old.prints {
		if p != 0 {
			t.put(old.keys[i], p)
		}
	}
}

// put sets the fingerprint of a key. For a new key the table must have space.
func (t *prints) put(key, p uint64) {
	i := t.slot(key)
	t.keys[i], t.prints[i] = key, p
}
