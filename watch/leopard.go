package watch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"time"

	"isovet/check/mechanism"
	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/freeze"
	"isovet/internal/keystore"
	"isovet/internal/saved"
	"isovet/level"
)

// LeopardOptions are the parameters of NewLeopard and NewLive.
type LeopardOptions struct {
	// Profile is the database's profile. If it is nil, the stream's header names it.
	Profile *mechanism.Profile
	// Level is the level that proofs refer to. If it is nil, it is the profile's.
	Level *level.Level
	// Skew, in ns, widens every interval of a transaction at both ends.
	Skew int64
	// Lateness, in ns of client time, is how far before the latest end seen a transaction may begin without being
	// late. With AllLate nothing is late, and nothing is final before the stream ends.
	Lateness int64
	Attach   Attach
	Gate     GateOptions
	Bounds
}

// leopard judges by the database's mechanisms and client times.
type leopard struct {
	o      LeopardOptions                `freeze:"-"`
	line   func(n int64) ([]byte, error) `freeze:"-"`
	online *mechanism.Online             // nil: before the header, or the first transaction
	stream *mechanism.Stream
	court  court
	wrote  repeats
	header []byte
	first  int64 // number of the first transaction's line
	taken  bool  // a transaction has been taken
	lost   bool  // lines of the stream are lost
	attach bool  // initial values are unknown, unless an initial transaction arrives
	g      gate
	front  frontier       // ends
	past   []waitingSince // marks of waiting reads, by the clock
	buf    []mechanism.Trace
	found  []finding
	keys   *keystore.Table
	store  *keystore.Store `freeze:"-"`
	err    error           `freeze:"-"` // of the store
	pinned []uint64        `freeze:"-"` // see evict
	// everything makes tests evict keys whenever possible.
	everything bool `freeze:"-"`
	// shortened counts how often a lack of memory made transactions final early.
	shortened int64
	// confirmed counts reads that waited for a writer and became violations; withdrawn those that a late transaction
	// explained.
	confirmed, withdrawn int64
}

// finding is a violation. Without one, it is a transaction or a read that came too late to be judged, or a transaction
// too far ahead.
type finding struct {
	v     *mechanism.Violation
	read  *mechanism.Unjudged
	txn   int64
	ahead *Violation
	asOf  int64 // repeats.txns then
}

type waitingSince struct {
	clock int64
	reads int
}

// ended returns the latest time of a transaction.
func ended(h *history.TxnHead) (int64, bool) {
	at := max(h.Start, h.Commit, h.End)
	return at, at != history.NoTime
}

// NewLeopard returns a judge by the mechanisms of the database.
func NewLeopard(o LeopardOptions) (Judge, error) {
	if o.Lateness < 0 || o.Skew < 0 {
		return nil, fmt.Errorf("lateness %d, clock skew %d; none may be negative", o.Lateness, o.Skew)
	}
	g := gate{o: o.Gate, hash: o.Gate.hash(), unit: Nanoseconds, relative: true, moment: ended}
	g.seen.half = o.halfSeen()
	store := o.Bounds.store()
	j := &leopard{wrote: repeats{hash: g.hash, half: o.halfSeen()}, o: o, g: g, store: store,
		keys: keystore.NewTable(store, keyKind, g.hash)}
	j.stream = mechanism.NewStreamOf(leopardKeys{j}, g.hash)
	return j, nil
}

// ofProfile is the value of the setting "level" if the judge uses its profile's level.
const ofProfile = "the profile's"

func (j *leopard) Settings() []Setting {
	profile, lvl := "auto", ofProfile
	if p := j.o.Profile; p != nil {
		profile = p.Name()
		if q, err := mechanism.LookupProfile(profile); err != nil || !reflect.DeepEqual(p, q) { // a user's
			text, err := json.Marshal(p)
			if err != nil {
				panic(err) // its fields are plain
			}
			profile = string(text)
		}
	}
	if j.o.Level != nil {
		lvl = j.o.Level.String()
	}
	s := []Setting{{"checker", "leopard"}, {"profile", profile}, {"level", lvl}, {"clock-skew", fmt.Sprintf("%dns",
		j.o.Skew)}, {"lateness", time.Duration(j.o.Lateness).String()}, {"attach", j.o.Attach.String()}}
	return append(s, j.o.Gate.settings()...)
}

// begun is the part of the state that must be restored before the rest.
type begun struct {
	Begun  bool
	Header []byte
}

func (j *leopard) Checkpoint(dir string) error {
	if err := freeze.Save(filepath.Join(dir, "begun"), &begun{j.online != nil, j.header}); err != nil {
		return err
	}
	if err := freeze.Save(filepath.Join(dir, stateFile), j); err != nil {
		return err
	}
	return keysCheckpoint(j.store, dir)
}

func (j *leopard) Restore(dir string) error {
	var b begun
	if err := freeze.Load(filepath.Join(dir, "begun"), &b); err != nil {
		return err
	}
	if b.Begun {
		var h *history.History
		var err error
		if len(b.Header) > 0 {
			if h, err = jsonl.ReadPiece(b.Header); err != nil {
				return err
			}
		}
		if err := j.start(h); err != nil {
			return err
		}
	}
	if err := freeze.Load(filepath.Join(dir, stateFile), j); err != nil {
		return err
	}
	return j.o.restore(dir, j.store)
}

func (j *leopard) Begin(line func(n int64) ([]byte, error)) { j.line = line }

// start begins to judge. h has the stream's header, or is nil.
func (j *leopard) start(h *history.History) error {
	j.court = court{profile: j.o.Profile, skew: j.o.Skew, stream: j.stream, head: h, origin: mechanism.Forever,
		recall: j.recall, wrote: &j.wrote, early: func(t int64) bool { return j.online.Early(t) }}
	if j.court.profile == nil {
		if h == nil {
			return errors.New(`the stream has no header that names the database; expected {"format":"isovet-history","version":1,"db":…,"isolation":…} first, or --profile`)
		}
		var err error
		if j.court.profile, err = mechanism.ProfileOf(h.Meta.DB, h.Meta.Isolation); err != nil {
			return err
		}
	}
	j.court.level = j.court.profile.Level
	if j.o.Level != nil {
		j.court.level = *j.o.Level
	}
	if h != nil {
		j.stream.Starts(h)
	}
	j.attach = j.o.Attach == AttachAlways || j.o.Attach == AttachAuto && (h == nil || h.Initial.Kind == history.Null)
	within := j.o.Lateness
	if within >= AllLate {
		within = 0
	}
	j.online = mechanism.NewOnline(mechanism.OnlineOptions{Lateness: mechanism.Forever, Options: mechanism.Options{
		Profile: *j.court.profile, Skew: j.o.Skew, Initial: j.stream.Initial, Within: within}})
	if j.keys != nil { // not for NewLive, where nothing is late
		j.online.ReportSuspects()
	}
	if j.lost {
		j.online.Lost()
	}
	return nil
}

func (j *leopard) Take(b *Batch, bad func(place int64, err error)) error {
	j.g.bad = bad
	if h := b.Header; h != nil {
		for i := range b.Lines {
			if jsonl.IsHeader(b.Text(i)) {
				j.header = append(bytes.Clone(b.Text(i)), '\n')
				j.first = b.First + int64(i) + 1
				break
			}
		}
		if err := j.start(h); err != nil {
			return err
		}
	}
	if len(b.Heads) > 0 && j.online == nil {
		if err := j.start(nil); err != nil {
			return err
		}
	}
	if err := j.evict(); err != nil {
		return err
	}
	j.stream.Piece(b.H)
	j.wrote.begin()
	for i := range b.Lines {
		if err := j.g.admit(b, i, j.header, nil, j.foreign, j.txn); err != nil {
			bad(b.Lines[i].Place, err)
			if j.online != nil {
				j.foreign(b, i)
			}
		}
		if j.let(bad) {
			j.stream.Piece(b.H)
		}
	}
	return j.err
}

// let judges the lines that the gate releases and reports the gate's findings. It returns true if another batch began.
func (j *leopard) let(bad func(place int64, err error)) bool {
	for _, v := range j.g.take() {
		j.found = append(j.found, finding{ahead: &v})
	}
	return j.g.let(func(b *Batch) { j.stream.Piece(b.H) }, j.foreign, func(b *Batch, i int) {
		if err := j.txn(b, i); err != nil {
			bad(b.Lines[i].Place, err)
			j.foreign(b, i)
		}
	})
}

// id returns a transaction's id or, without one, its line number.
func (j *leopard) id(hasID bool, id, n int64) int64 {
	if hasID {
		return id
	}
	return n - j.first
}

// txn judges the transaction of a line.
func (j *leopard) txn(b *Batch, i int) (err error) {
	n, t := b.Lines[i].N, b.Lines[i].Txn
	head := &b.Heads[t]
	if head.Init {
		if j.taken {
			return errors.New("the initial transaction comes after others; expected it first")
		}
		j.stream.Init(t)
		j.attach = j.o.Attach == AttachAlways
		return nil
	}
	if j.attach {
		j.online.Attach()
		j.wrote.midst = true
	}
	if j.buf, err = j.stream.Txn(saved.Spare(j.buf, 0), t, uint64(n)); err != nil || len(j.buf) == 0 {
		return err
	}
	j.taken = true
	j.wrote.add(b.H, t, n)
	j.court.origin = min(j.court.origin, j.buf[0].Bef)
	end := &j.buf[len(j.buf)-1]
	at := end.Aft
	if at == mechanism.Forever {
		at = end.Bef
	}
	if j.online.Add(j.buf) {
		j.found = append(j.found, finding{txn: j.id(head.HasID, head.ID, n)})
	} else {
		j.front.add(j.g.who(head, n), at)
	}
	if v, any := j.front.value(); any && j.o.Lateness < AllLate {
		j.online.Advance(plus(v, -j.o.Lateness))
	}
	if j.o.Memory > 0 && j.online.Shorten(j.o.shares().window) {
		j.shortened++
	}
	j.collect()
	return nil
}

// Lost says that lines before the next ones are lost.
func (j *leopard) Lost() {
	if j.lost = true; j.online != nil {
		j.online.Lost()
	}
}

// Clock ends waits for late writers.
func (j *leopard) Clock(now int64) {
	j.g.tick(now)
	if j.online == nil || j.o.Gate.Patience <= 0 {
		return
	}
	j.past = append(j.past, waitingSince{j.g.pace.clock, j.online.WaitMark()})
	n := 0
	for n < len(j.past) && j.past[n].clock <= j.g.pace.clock-int64(j.o.Gate.Patience) {
		n++
	}
	if n > 0 {
		j.online.Convict(j.past[n-1].reads)
		j.past = j.past[:copy(j.past, j.past[n:])]
		j.collect()
	}
}

func (j *leopard) Tick() (every, rest time.Duration) { return ticking(0, j.o.Gate) }

func (j *leopard) collect() {
	vs, us := j.online.Take()
	for i := range us {
		j.found = append(j.found, finding{read: &us[i]})
	}
	for i := range vs {
		j.found = append(j.found, finding{v: &vs[i], asOf: j.wrote.txns})
	}
}

func (j *leopard) Quiet() (int64, bool) {
	if j.g.waits() {
		return math.MinInt64, true
	}
	if j.online == nil || !j.online.Stats().Begun || j.o.Lateness >= AllLate {
		return 0, false
	}
	return j.online.Quiet(), true
}

func (j *leopard) Advance(mark int64) {
	if j.g.waits() {
		j.g.release(j.let)
		mark, _ = j.Quiet()
	}
	if j.online != nil {
		j.online.Advance(mark)
		j.collect()
	}
}

func (j *leopard) End() {
	j.g.release(j.let)
	if j.online != nil {
		j.online.Settle()
		j.collect()
	}
}

func (j *leopard) Findings(each func(f *Finding) error) error {
	for _, f := range j.found {
		j.court.asOf = f.asOf
		out := Finding{Class: late, Txns: []int64{f.txn}, Unjudged: true,
			Line: func(n int64) ([]byte, error) { return j.tell(n, f) }}
		switch {
		case f.v != nil:
			out.Class, out.Kind, out.Unjudged = f.v.Mechanism.String(), f.v.Kind, false
			out.Tries = true
			out.Prove = func(*Log) (*Proof, error) { return j.court.proof(*f.v) }
			out.Key, out.Txns = j.stream.Key(f.v.Key), out.Txns[:0]
			for _, t := range f.v.Txns {
				out.Txns = append(out.Txns, int64(t))
			}
		case f.ahead != nil:
			out.Class, out.Txns[0] = f.ahead.Axiom, f.ahead.Txn
		case f.read != nil:
			out.Txns[0] = int64(f.read.Reader)
		}
		if err := each(&out); err != nil {
			return err
		}
	}
	j.found = j.found[:0]
	return nil
}

func (j *leopard) Stats(s *Snapshot) {
	s.Label, s.Classes = "mechanism", []string{mechanism.ConsistentRead.String(), mechanism.MutualExclusion.String(),
		mechanism.FirstUpdaterWins.String(), mechanism.SerializationCertifier.String()}
	if j.online == nil {
		return
	}
	o := j.online.Stats()
	s.Txns, s.Late, s.Window, s.Keys = o.Txns, o.Late, o.Waiting, j.stream.Keys()
	if o.Begun {
		s.Watermark, s.WatermarkAt = o.Watermark, j.g.time(o.Watermark)
	}
	spilled := int64(0)
	if j.keys != nil { // without a log there is no store
		spilled = j.keys.Stored()
	}
	s.More = []Count{
		{"versions", "gauge", "Versions remembered.", "versions", int64(o.Versions)},
		{"locks", "gauge", "Locks in memory that belong to no version.", "locks", int64(o.Locks)},
		{"suspects", "gauge", "Reads of values whose writer has not arrived.", "suspects", int64(o.Suspects)},
		{"suspects_confirmed_total", "counter", "Suspects that were violations.", "suspects confirmed", j.confirmed},
		{"suspects_withdrawn_total", "counter", "Suspects that a late transaction explained.", "suspects withdrawn",
			j.withdrawn},
		{"spilled_keys", "gauge", "Keys whose state is on disk.", "keys on disk", spilled},
		{"shortened_total", "counter", "How often transactions became final early, for lack of memory.",
			"early finals", j.shortened},
	}
	s.More = append(s.More, j.g.counts()...)
}
