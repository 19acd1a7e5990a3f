package watch

import (
	"fmt"
	"math"
	"slices"
	"time"

	"isovet/history"
	"isovet/internal/keyed"
)

// GateOptions are the options of every judge for accepting lines.
type GateOptions struct {
	// Once ignores a duplicate transaction, recognised by its id, or, without one, by its place in its session. At
	// least the last million transactions are remembered.
	Once bool
	// MaxJump bounds the time by which a transaction may be ahead of the others, and of the clock; one further
	// ahead goes to quarantine. 0: no bound.
	MaxJump time.Duration
	// Patience is the time, by the clock, for which an unexplained read waits for a late writer before it becomes a
	// violation. The wait also ends after Config.Idle without arrivals, and at the end of the stream.
	Patience time.Duration
	// Hash hashes values and the contents of transactions; nil: a key is drawn and stored in checkpoints.
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

// gate filters lines before they are judged. It drops duplicates, and holds back lines too far ahead of all others. It
// is a function of the lines and the clock in the log.
type gate struct {
	o    GateOptions `freeze:"-"`
	hash *keyed.Key
	unit Unit
	// relative says that the times are not counted from 1970, or from an unknown moment. votes has the first times
	// while that, or the unit, is being detected.
	relative bool
	votes    []int64
	// moment returns the time of a transaction that may be too far ahead; false if it has none.
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

// quarantine has the lines too far ahead.
type quarantine struct {
	held   []heldLine
	passed int            // lines since the first of held
	since  map[int64]bool // sessions since then → one of their lines is held
	free   bool           // the held lines may be released
}

// firstLines has the first transactions (see gate_first.go), the number of those with times, those to release, and
// those that went to quarantine.
type firstLines struct {
	first       []heldLine
	timed       int
	learned     bool
	ready, away []heldLine `freeze:"-"`
}

// gateCounts counts duplicates, jumps, and lines freed from quarantine.
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

// maxHeld bounds the quarantine; further lines are not judged.
const maxHeld = 1 << 12

// maxSince bounds the sessions counted while lines are in quarantine; at least half of them are not ahead.
const maxSince = 4 * maxHeld

// fate is the gate's decision about a line.
type fate uint8

const (
	pass fate = iota
	again
	held
	waiting // for other first transactions
)

// learning is the number of lines that show the usual steps before a jump can be too far. enoughHeld is the number of
// sessions that must be ahead, and more than are not, so that the jump counts as the database's own.
const (
	learning   = 4
	enoughHeld = 8
	usual      = 64      // a jump of so many times the greatest so far is normal
	fewTicks   = 1 << 20 // a jump of so many timestamps is normal, if they are no times
)

// who returns the session of a transaction for frontier.
func (g *gate) who(h *history.TxnHead, n int64) int64 {
	if h.HasSess {
		return h.Session
	}
	return math.MinInt64 + n // a new session each time
}

// look decides about a transaction. The error says that another one has its id.
func (g *gate) look(b *Batch, i int) (fate, error) {
	l := &b.Lines[i]
	h := &b.Heads[l.Txn]
	if h.Init {
		return pass, nil
	}
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

// admit passes a line through the gate, after its head has gone to before, if that is not nil. A line that the gate
// holds back goes to away, one that passes to in. Errors: the line's, in's; a different transaction of that id came
// before.
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

// detect finds, by the majority of the first three times, the unit and whether times are counted from 1970.
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

// now returns the clock's time in timestamps; false if they are no times.
func (g *gate) now() (int64, bool) {
	if g.pace.clock == 0 || g.relative {
		return 0, false
	}
	return g.unit.ticks(time.Duration(g.pace.clock))
}

// bound returns the latest time that is not too far ahead.
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

// reach returns the allowed distance ahead of others.
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
	q := &g.quarantine
	l := &b.Lines[i]
	h := &b.Heads[l.Txn]
	id := h.ID
	if !h.HasID {
		id = l.N
	}
	if len(q.held) == 0 {
		q.passed, q.since = 0, map[int64]bool{}
	}
	g.count.jumps++
	ahead := plus(at, -g.front.all[1])
	g.found = append(g.found, Violation{Axiom: jumped, Txn: id, Why: fmt.Sprintf("%d ahead", ahead)})
	if len(q.held) < maxHeld {
		q.held = append(q.held, heldLine{n: l.N, place: l.Place, at: at, text: slices.Clone(b.Text(i)), id: id,
			who: who})
	}
	q.since[who] = true
	theirs := 0
	for _, one := range q.since {
		if one {
			theirs++
		}
	}
	q.free = len(q.held) >= enoughHeld && len(q.held) > q.passed && 2*theirs >= len(q.since)
}

// released returns the held lines that may pass, in the order of their arrival: so many sessions are ahead that the
// database itself has jumped. Lines too far ahead of these stay.
func (g *gate) released() *Batch {
	if !g.quarantine.free {
		return nil
	}
	g.quarantine.free = false
	var times []int64
	for _, l := range g.quarantine.held {
		times = append(times, l.at)
	}
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

// tick sets the clock.
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

// take returns the lines quarantined since its last call; the result is valid until the next line.
func (g *gate) take() []Violation {
	out := g.found
	g.found = g.found[:0]
	return out
}

// time converts a time of the stream to the clock's; zero if it is unknown.
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

// seen is a set of the transactions that have arrived, in two halves: when the newer one is full, the older is dropped.
// Each entry has 64 bits that identify the transaction, such as its id, and a keyed hash of its content.
type seen struct {
	table [2]prints
	n     int
	half  int    `freeze:"-"` // size of a half; 0: halfSeen
	near  uint64 `freeze:"-"` // see fetch
}

// prints is a hash table from scrambled keys to prints; 0 marks a free entry.
type prints struct {
	keys   []uint64
	prints []uint64
}

// halfSeen is the number of transactions in a half.
const halfSeen = 1 << 20

// key returns a transaction's key; false if it has nothing that identifies it.
func (s *seen) key(h *history.TxnHead) (uint64, bool) {
	switch {
	case h.HasID:
		return keyed.Scramble(uint64(h.ID)), true
	case h.HasSess && h.HasSeq:
		return keyed.Scramble(keyed.Scramble(uint64(h.Session)) + uint64(h.Seq) + 1), true
	}
	return 0, false
}

// nearby is the number of transactions that are looked up at once.
const nearby = 64

// fetch touches the entries that add will read for some transactions, so that the processor loads them at the same
// time: the tables are far larger than its caches. It changes nothing.
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

// add adds a transaction. same says that it has arrived before, other that its id belongs to another one. Both are
// false if nothing identifies it.
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

// find returns the fingerprint of a key; 0: there is none.
func (t *prints) find(key uint64) uint64 {
	if len(t.keys) == 0 {
		return 0
	}
	mask := uint64(len(t.keys) - 1)
	for i := key & mask; ; i = (i + 1) & mask {
		if p := t.prints[i]; p == 0 || t.keys[i] == key {
			return p
		}
	}
}

// grow makes room for one more than n.
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

// set changes the print of an existing key.
func (t *prints) set(key, p uint64) {
	mask := uint64(len(t.keys) - 1)
	i := key & mask
	for t.keys[i] != key || t.prints[i] == 0 {
		i = (i + 1) & mask
	}
	t.prints[i] = p
}

func (t *prints) put(key, p uint64) {
	mask := uint64(len(t.keys) - 1)
	i := key & mask
	for t.prints[i] != 0 {
		i = (i + 1) & mask
	}
	t.keys[i], t.prints[i] = key, p
}
