package watch

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"isovet/check/timestamp"
	"isovet/history"
	"isovet/internal/keystore"
)

// AionOptions are the parameters of NewAion.
type AionOptions struct {
	timestamp.Options
	// Lateness is in units of the database's timestamps. A transaction is late if it starts earlier than this before
	// the latest start seen.
	Lateness int64
	// Wait, if positive, replaces Lateness by a duration. If the timestamps are times, Wait is a difference of
	// timestamps, and the watermark stays at least Wait behind the clock. Otherwise the watermark is the progress that
	// the stream had Wait ago by the clock, like AION's time-outs.
	Wait time.Duration
	// Unit is the unit of the timestamps. With UnitUnknown, the first timestamps show it.
	Unit   Unit
	Attach Attach
	Gate   GateOptions
	Bounds
}

// Attach says whether the initial values of keys are unknown.
type Attach uint8

const (
	// AttachNever takes the initial values from the header and the initial transaction; all others are null.
	AttachNever Attach = iota
	// AttachAuto treats initial values as unknown if the stream has neither an initial transaction nor an initial
	// value.
	AttachAuto
	AttachAlways
)

var attachNames = [...]string{"never", "auto", "always"}

func (a Attach) String() string { return attachNames[a] }

// AttachNames returns the names that ParseAttach accepts.
func AttachNames() []string { return attachNames[:] }

// ParseAttach returns the mode of a name.
func ParseAttach(name string) (Attach, error) { return named[Attach]("mode", attachNames[:], name) }

// AllLate is a lateness so large that nothing becomes final before the stream ends.
const AllLate = 1 << 60

// aion judges by the database's timestamps.
type aion struct {
	a         *timestamp.Aion
	p         *parser
	o         AionOptions `freeze:"-"`
	g         gate
	front     frontier // starts, or commits at the serializable levels
	attached  bool
	lost      bool // lines of the stream are lost
	begun     bool
	max       int64 // the latest time given to front
	watermark int64
	regular   int64   // the watermark without early finals: shorten does not move it
	past      []ahead // clock and front at each call of Clock
	suspects  suspects
	wrote     repeats   // whether values repeat
	told      []Suspect `freeze:"-"`
	confirmed int64
	withdrawn int64
	found     []Violation
	store     *keystore.Store `freeze:"-"`
	room      shares          `freeze:"-"`
	shortened int64           // see shorten
}

// NewAion returns a judge by the database's timestamps, or an error about the options.
func NewAion(o AionOptions) (Judge, error) {
	if o.Lateness < 0 || o.Wait < 0 {
		return nil, fmt.Errorf("lateness %d, %v is negative", o.Lateness, o.Wait)
	}
	o.Hash = o.Gate.hash()
	a, err := timestamp.NewAion(o.Options)
	if err != nil {
		return nil, err
	}
	store := o.store()
	j := &aion{a: a, p: newParser(a, o.Hash, store), o: o, store: store,
		g:    gate{o: o.Gate, hash: o.Hash, unit: o.Unit, moment: stamped},
		room: o.shares(), watermark: math.MinInt64, regular: math.MinInt64}
	if j.p.rows.room = j.room.state / 2; store != nil {
		j.p.evict = j.evict
	}
	j.g.seen.half, j.wrote.half, j.wrote.hash = o.halfSeen(), o.halfSeen(), o.Hash
	if o.Attach == AttachAlways {
		j.attach()
	}
	return j, nil
}

// stamped returns the later of a transaction's timestamps.
func stamped(h *history.TxnHead) (int64, bool) {
	if h.Status == history.Aborted || h.StartTS == history.NoTime || h.CommitTS == history.NoTime {
		return 0, false
	}
	return max(h.StartTS, h.CommitTS), true
}

func (j *aion) attach() {
	j.attached, j.p.rows.attach = true, true
	j.a.Attach()
}

func (j *aion) Settings() []Setting {
	late := strconv.FormatInt(j.o.Lateness, 10) + "ticks"
	if j.o.Wait > 0 {
		late = j.o.Wait.String()
	}
	s := []Setting{{"checker", "aion"}, {"level", j.o.Level.String()}, {"lateness", late},
		{"timestamp-unit", j.o.Unit.String()}, {"attach", j.o.Attach.String()}}
	if j.o.Level.Serial() {
		s = append(s, Setting{"read-only-at-start", strconv.FormatBool(j.o.ReadOnlyAtStart)})
	}
	return append(s, j.o.Gate.settings()...)
}

func (j *aion) Begin(func(n int64) ([]byte, error)) {}

func (j *aion) Take(b *Batch, bad func(place int64, err error)) error {
	j.g.bad = bad
	if err := j.evict(); err != nil {
		return err
	}
	j.p.begin(b)
	for i := range b.Lines {
		j.line(b, i, bad)
		if j.let(bad) {
			j.p.begin(b)
		}
	}
	return j.p.err
}

// let judges the lines that the gate releases and reports the gate's findings. It returns true if another batch began.
func (j *aion) let(bad func(place int64, err error)) (any bool) {
	j.found = append(j.found, j.g.take()...)
	j.settle(j.o.Gate.Patience)
	any = j.g.let(j.p.begin, func(b *Batch, i int) { j.p.doubtOps(b.Text(i)) },
		func(b *Batch, i int) { j.judge(b, i, bad) })
	if any {
		j.settle(j.o.Gate.Patience)
	}
	return any
}

func (j *aion) line(b *Batch, i int, bad func(place int64, err error)) {
	l := &b.Lines[i]
	if l.Err == nil && l.Txn == history.None || l.comesAgain(j.p.header, b.Text(i)) {
		return
	}
	if l.Err == nil {
		fate, err := j.g.look(b, i)
		switch {
		case err != nil:
			l.Err = err
		case fate == held:
			j.p.doubtOps(b.Text(i)) // readers of its writes are not accused
			return
		case fate == again || fate == waiting:
			return
		}
	}
	j.judge(b, i, bad)
}

// judge judges a line that the gate has passed.
func (j *aion) judge(b *Batch, i int, bad func(place int64, err error)) {
	if n := b.Lines[i].Txn; b.Lines[i].Err == nil && n != history.None {
		j.wrote.begin()
		j.wrote.add(b.H, n, b.Lines[i].N)
	}
	t, err := j.p.line(b, i, func() {
		if j.o.Attach == AttachAuto && !j.attached && !j.begun && j.p.initial == 0 && !j.p.begins {
			j.attach()
		}
	})
	if err != nil {
		bad(b.Lines[i].Place, err)
	}
	if t == nil {
		return
	}
	who := int64(math.MinInt64) + b.Lines[i].N
	if err == nil && j.p.hasWho {
		who = int64(j.p.who) // its number may be reused later
	}
	j.add(t, who)
}

// at returns the timestamp of a transaction that is compared with the watermark.
func (j *aion) at(t *timestamp.Arrival) int64 {
	if j.o.Level.Serial() && !j.o.ReadOnlyAtStart {
		return t.Commit
	}
	return t.Start
}

func (j *aion) add(t *timestamp.Arrival, who int64) {
	at := j.at(t)
	if ticks, known := j.late(); j.attached && known && ticks < AllLate {
		j.a.Within(ticks)
	}
	if j.wrote.again > 0 {
		j.a.Again()
	}
	behind := j.a.Add(t)
	j.p.rows.txns++
	j.p.bound()
	if t.NoPart {
		return
	}
	if behind {
		j.settle(j.o.Gate.Patience)
		j.explain(t)
	}
	j.front.add(who, at)
	if !j.begun || at > j.max {
		j.max = at
	}
	j.begun = true
	j.follow()
	j.shorten()
}

// explain settles reads that waited for the writes of t, a late transaction.
func (j *aion) explain(t *timestamp.Arrival) {
	j.suspects.late(t, j.p.keys.Sum, func(x *suspect) { j.acquit(x, t.ID) })
	j.suspects.came(t, j.p.keys.Sum, j.a.Arrived()-1, j.max)
}

// follow moves the watermark to the stream's progress, if the lateness is known in timestamps.
func (j *aion) follow() {
	v, any := j.front.value()
	if now, ok := j.g.now(); ok && j.o.Wait > 0 {
		v = min(v, now)
	}
	if behind, known := j.late(); any && known && behind < AllLate { // otherwise by the clock
		j.pass(plus(v, -behind))
	}
}

// late returns the lateness in timestamps, if it is known.
func (j *aion) late() (ticks int64, known bool) {
	if j.o.Wait > 0 {
		return j.g.unit.ticks(j.o.Wait)
	}
	return j.o.Lateness, true
}

// Lost says that lines before the next ones are lost. From now on a read that no write explains may show a lost one.
func (j *aion) Lost() { j.lost = true }

// Clock ends waits for late writers. If the timestamps are not times, it also moves the watermark.
func (j *aion) Clock(now int64) {
	j.g.tick(now)
	j.suspects.expire(j.g.pace.clock, j.regular, j.convict)
	if _, tells := j.g.unit.ticks(0); tells || j.o.Wait == 0 {
		j.past = nil
		return
	}
	if v, any := j.front.value(); any {
		j.past = append(j.past, ahead{j.g.pace.clock, v, true})
	}
	n := 0
	for n < len(j.past) && j.past[n].who <= j.g.pace.clock-int64(j.o.Wait) {
		n++
	}
	if n > 0 {
		j.pass(j.past[n-1].at)
		j.settle(j.o.Gate.Patience)
		j.past = j.past[:copy(j.past, j.past[n:])]
	}
}

func (j *aion) Tick() (every, rest time.Duration) { return ticking(j.o.Wait, j.o.Gate) }

func (j *aion) Quiet() (int64, bool) {
	mark := j.max
	if j.o.Level.Serial() { // there a read is final only behind its own time
		mark = j.a.Oldest(1)
	}
	return mark, j.begun || j.g.waits()
}

// pass advances the watermark as the lateness allows.
func (j *aion) pass(mark int64) {
	j.regular = max(j.regular, mark)
	j.advance(mark)
}

func (j *aion) advance(mark int64) {
	j.a.Advance(mark)
	j.a.Missing(mark)
	j.watermark = max(j.watermark, mark)
}

func (j *aion) Advance(mark int64) {
	if j.g.waits() {
		j.g.release(j.let)
		mark, _ = j.Quiet()
	}
	if !j.begun {
		return
	}
	j.pass(mark)
	j.settle(j.o.Gate.Patience)
	j.suspects.expire(j.g.pace.clock, j.regular, j.convict)
}

func (j *aion) End() {
	j.g.release(j.let)
	j.watermark = max(j.watermark, j.a.Settle())
	j.regular = j.watermark
	j.settle(0)
	j.suspects.expire(math.MaxInt64, math.MaxInt64, j.convict)
}

// settle collects the final findings. A read that a late writer may explain waits for this time, if it is positive.
func (j *aion) settle(patience time.Duration) {
	for _, f := range j.a.Take() {
		key, sum := "", uint64(0)
		if f.Key != history.None { // its key still has a number
			key, sum = j.p.keys.Name(f.Key), j.p.keys.Sum(f.Key)
		}
		j.settled(f, key, sum, patience)
	}
	j.suspects.forget(j.watermark)
}

func (j *aion) settled(f timestamp.Final, key string, sum uint64, patience time.Duration) {
	writer, is := int64(0), false
	if f.Axiom == timestamp.EXT {
		writer, is = j.suspects.wrote(sum, &f)
	}
	switch {
	case j.p.doubtful(&f, sum), f.Unique && j.wrote.again > 0, j.lost && j.mayBeLate(&f):
	case is:
		v := j.violation(&f, key)
		v.Axiom, v.Other = late, &writer
		j.found = append(j.found, v)
	case j.mayBeLate(&f) && (patience > 0 && j.g.pace.clock > 0 || j.regular < j.watermark):
		v := j.violation(&f, key)
		x := &suspect{f: f, key: key, sum: sum, due: plus(j.g.pace.clock, int64(patience)), mark: j.watermark}
		if j.suspects.add(x) {
			j.told = append(j.told, suspected(&v, ""))
			break
		}
		v.Axiom, v.Why, v.Other = late, "", nil
		j.found = append(j.found, v)
	default:
		j.found = append(j.found, j.violation(&f, key))
	}
}

// mayBeLate reports whether a wrong read may have seen a write that has not arrived yet. It is possible if no other
// transaction that committed earlier wrote the value, if it is null, which deletes write, or if values repeat.
func (j *aion) mayBeLate(f *timestamp.Final) bool {
	if f.Axiom != timestamp.EXT {
		return false
	}
	return f.Kind == timestamp.NoKind || f.Kind == timestamp.Own || f.Kind == timestamp.After ||
		f.Kind == timestamp.Phantom || f.Got == 0 || f.Unique || j.wrote.again > 0
}

func (j *aion) violation(f *timestamp.Final, key string) Violation {
	v := Violation{Axiom: f.Axiom.String(), Why: f.Kind.String(), Txn: f.Txn}
	if f.Other != timestamp.NoID {
		v.Other = new(f.Other)
	}
	if key != "" {
		v.Key = json.RawMessage(key)
	}
	if f.Unique {
		v.ProofAssumes = unique
	}
	if f.Op != history.None {
		v.Op = new(f.Op)
	}
	if f.Axiom == timestamp.GAP {
		v.Missing = []int64{int64(f.Got), int64(f.Want)}
	}
	return v
}

func (j *aion) Findings(each func(f *Finding) error) error {
	for i := range j.found {
		v := &j.found[i]
		f := v.finding()
		if !f.Unjudged {
			f.Prove = func(log *Log) (*Proof, error) { return j.prove(log, v) }
		}
		if err := each(f); err != nil {
			return err
		}
	}
	j.found = j.found[:0]
	return nil
}

func (j *aion) Stats(s *Snapshot) {
	a := j.a.Stats()
	s.Txns, s.Late, s.Window = a.Txns, a.Late, a.Window
	s.Classes = []string{"SESSION", "INT", "EXT", "NOCONFLICT", "TIMESTAMPS"}
	keys, spilled := j.p.keys.Known(), j.p.keys.Stored()
	s.Rectified = Rectified{}
	j.p.turned.add(&s.Rectified)
	if s.Keys = int(keys); j.begun && j.watermark > math.MinInt64 {
		s.Watermark, s.WatermarkAt = j.watermark, j.g.time(j.watermark)
	}
	s.More = append([]Count{{"flips_total", "counter", "Tentative verdicts of reads that changed.", "flips", a.Flips},
		{"suspects", "gauge", "Reads that nothing explains so far, and that a later arrival may explain.", "suspects",
			int64(a.Wrong + j.suspects.n)},
		{"suspects_confirmed_total", "counter", "Suspects that were violations.", "suspects confirmed", j.confirmed},
		{"suspects_withdrawn_total", "counter", "Suspects that a late transaction explained.", "suspects withdrawn",
			j.withdrawn},
		{"spilled_keys", "gauge", "Keys whose state is on disk.", "keys on disk", spilled},
		unjudgedPredicates(a.Unjudged),
		{"gaps_total", "counter", "Gaps: numbers that a session skipped.", "gaps", a.Gaps},
		{"gaps_found_total", "counter", "Transactions that filled a gap later.", "gaps filled", a.Found},
		{"gap_sessions", "gauge", "Sessions in which numbers are missing.", "sessions with gaps", int64(a.GapSessions)},
		{"shortened_total", "counter", "How often transactions became final early, for lack of memory.",
			"early finals", j.shortened}}, j.g.counts()...)
}
