package watch

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"time"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/internal/freeze"
	"isovet/internal/keystore"
	"isovet/level"
	"isovet/watch/online"
)

// ReplayOptions are the parameters of NewReplay.
type ReplayOptions struct {
	Level level.Level
	// Skew, in ns, widens every interval of a transaction at both ends.
	Skew int64
	// Lateness, in ns of client time, is how far before the latest end seen a transaction may end without being late.
	// With AllLate nothing is late, and nothing is final before the stream ends.
	Lateness int64
	Attach   Attach
	Gate     GateOptions
	// Horizon is the number of transactions of the order in memory; 0 means online.DefaultHorizon.
	Horizon int
	Bounds
}

// ReplayLevels are the levels that the judge decides.
func ReplayLevels() []level.Level {
	return []level.Level{level.Serializable, level.SessionSerializable, level.StrictSerializable,
		level.SnapshotIsolation, level.SessionSnapshotIsolation, level.StrictSnapshotIsolation}
}

// replayJudge judges by an order of the transactions that explains their reads, over client times.
type replayJudge struct {
	o        ReplayOptions `freeze:"-"`
	e        *online.Engine
	stream   streamHead     `freeze:"flat"`
	progress replayProgress `freeze:"flat"`
	g        gate
	front    frontier
	mark     int64
	keys     *keystore.Table
	sess     *keystore.Table
	scratch  replayScratch `freeze:"-"`
	found    []replayFinding
	mem      replayMemory `freeze:"flat"`
}

// streamHead has facts from the beginning of the stream, and the function that returns its lines.
type streamHead struct {
	line   func(n int64) ([]byte, error) `freeze:"-"`
	head   *history.History              `freeze:"-"` // of header
	header []byte
	first  int64 // number of the first transaction's line
	init   int64 // line of the initial transaction; −1: none
	begun  bool  // a transaction has been taken
	timed  bool  // a committed one has been taken
	byTS   bool  // the stream has no client times; see times
	preds  int64 // predicate operations, of which only the rows that they returned are judged
}

// replayScratch has buffers for the current batch and arrival.
type replayScratch struct {
	keyOf []uint32 // the batch's key → ours
	use   []keyUse
	stamp uint32
	buf   online.Arrival
}

// keyUse says how a transaction uses a key of the batch.
type keyUse struct {
	stamp       uint32
	read, write int32 // places in the arrival, −1
}

type replayFinding struct {
	f     online.Finding
	late  bool
	txn   int64
	ahead *Violation
}

// NewReplay returns a judge that needs only client times. It returns an error about wrong options.
func NewReplay(o ReplayOptions) (Judge, error) {
	if !slices.Contains(ReplayLevels(), o.Level) {
		return nil, fmt.Errorf("watch does not decide %s; expected one of %v", o.Level, ReplayLevels())
	}
	if o.Lateness < 0 || o.Skew < 0 || o.Horizon < 0 {
		return nil, fmt.Errorf("lateness %d, clock skew %d, horizon %d; none may be negative", o.Lateness, o.Skew,
			o.Horizon)
	}
	patience := int64(o.Gate.Patience)
	if o.Lateness >= AllLate {
		patience = 0
	}
	e := online.New(online.Options{Level: o.Level, Skew: o.Skew, Lateness: o.Lateness, Patience: patience,
		Horizon: o.Horizon, Memory: max(0, o.Memory) / 16})
	g := gate{o: o.Gate, hash: o.Gate.hash(), unit: Nanoseconds, relative: true, moment: ended}
	j := &replayJudge{o: o, e: e, g: g, mark: math.MinInt64, stream: streamHead{init: -1},
		mem: replayMemory{store: o.Bounds.store(), room: o.shares()}}
	j.keys = keystore.NewTable(j.mem.store, keyKind, g.hash)
	j.sess = keystore.NewTable(j.mem.store, sessionKind, g.hash)
	j.g.seen.half = o.halfSeen()
	return j, nil
}

func (j *replayJudge) Settings() []Setting {
	s := []Setting{{"checker", "replay"}, {"level", j.o.Level.String()}, {"clock-skew", fmt.Sprintf("%dns", j.o.Skew)},
		{"horizon", fmt.Sprint(cmp.Or(j.o.Horizon, online.DefaultHorizon))},
		{"lateness", time.Duration(j.o.Lateness).String()}, {"attach", j.o.Attach.String()}}
	return append(s, j.o.Gate.settings()...)
}

func (j *replayJudge) Checkpoint(dir string) error {
	if err := freeze.Save(filepath.Join(dir, stateFile), j); err != nil {
		return err
	}
	return keysCheckpoint(j.mem.store, dir)
}

func (j *replayJudge) Restore(dir string) error {
	if err := freeze.Load(filepath.Join(dir, stateFile), j); err != nil {
		return err
	}
	if len(j.stream.header) > 0 {
		var err error
		if j.stream.head, err = jsonl.ReadPiece(j.stream.header); err != nil {
			return err
		}
	}
	return j.o.restore(dir, j.mem.store)
}

func (j *replayJudge) Begin(line func(n int64) ([]byte, error)) { j.stream.line = line }

func (j *replayJudge) Take(b *Batch, bad func(place int64, err error)) error {
	j.g.bad = bad
	if !j.goesOn() {
		return nil
	}
	if err := j.evict(); err != nil {
		return err
	}
	if h := b.Header; h != nil {
		j.stream.head = h
		for i := range b.Lines {
			if jsonl.IsHeader(b.Text(i)) {
				j.stream.header = append(bytes.Clone(b.Text(i)), '\n')
				j.stream.first = b.First + int64(i) + 1
				break
			}
		}
		j.e.SetDefault(h.Texts.Keyed(j.g.hash, h.Initial))
	}
	j.piece(b.H)
	for i := range b.Lines {
		if j.progress.cut {
			break
		}
		if b.Lines[i].N < j.progress.next {
			continue
		}
		j.progress.next, j.progress.ended = b.Lines[i].N+1, false
		if err := j.g.admit(b, i, j.stream.header, j.times, j.foreign, j.txn); err != nil {
			bad(b.Lines[i].Place, err)
			j.foreign(b, i)
		}
		if j.let(bad) {
			j.piece(b.H)
		}
	}
	return j.mem.err
}

// let judges the lines that the gate releases and reports the gate's findings. It returns true if another piece began.
func (j *replayJudge) let(bad func(place int64, err error)) bool {
	for _, v := range j.g.take() {
		j.found = append(j.found, replayFinding{ahead: &v})
	}
	j.e.Until(nil) // they are few
	defer j.e.Until(j.progress.stop)
	return j.g.let(func(b *Batch) { j.piece(b.H) }, j.foreign, func(b *Batch, i int) {
		if err := j.txn(b, i); err != nil {
			bad(b.Lines[i].Place, err)
			j.foreign(b, i)
		}
	})
}

func (j *replayJudge) piece(h *history.History) {
	j.scratch.keyOf = j.scratch.keyOf[:0]
	for _, k := range h.Keys {
		j.scratch.keyOf = append(j.scratch.keyOf, j.number(h.Texts, k))
	}
	j.fetch()
	for len(j.scratch.use) < len(h.Keys) {
		j.scratch.use = append(j.scratch.use, keyUse{})
	}
}

func (j *replayJudge) attach() {
	if j.stream.begun {
		return
	}
	j.stream.begun = true
	if j.o.Attach == AttachAlways || j.o.Attach == AttachAuto && j.stream.init < 0 &&
		(j.stream.head == nil || j.stream.head.Initial.Kind == history.Null) {
		j.e.Attach()
	}
}

// times decides by the first committed transaction whether a stream without client times has the database's
// timestamps. At the levels without real time they only give a first order.
func (j *replayJudge) times(head *history.TxnHead) {
	if !j.stream.timed && head.Status == history.Committed && !head.Init {
		j.stream.timed = true
		j.stream.byTS = !j.o.Level.RealTime() && head.End == history.NoTime && head.CommitTS != history.NoTime
	}
	if j.stream.byTS {
		head.Start, head.End = head.StartTS, head.CommitTS
	}
}

// txn takes the transaction of a line.
func (j *replayJudge) txn(b *Batch, i int) error {
	n, t := b.Lines[i].N, b.Lines[i].Txn
	head, h := &b.Heads[t], b.H
	j.times(head)
	preds := int64(0)
	for op := range h.EachOp(t) {
		if k := h.Ops.Kind[op]; k == history.PredRead || k == history.PredWrite {
			preds++
		}
	}
	if err := listIn(h, t); err != nil {
		return err
	}
	if head.Init {
		return j.initial(b, i)
	}
	if head.Status == history.Committed {
		if head.End == history.NoTime || j.untimed(head) {
			return lacksTimes(j.id(head.HasID, head.ID, n))
		}
	}
	j.attach()
	a := &j.scratch.buf
	*a = online.Arrival{Line: n, Start: head.Start, End: head.End, Session: online.NoSession, Seq: n,
		Status: head.Status, Reads: a.Reads[:0], Writes: a.Writes[:0], Lost: a.Lost[:0]}
	if head.HasSess {
		a.Session = j.session(head.Session)
		if head.HasSeq {
			a.Seq = head.Seq
		}
	}
	wrong, other := j.ops(h, t)
	if wrong >= 0 && head.Status == history.Committed {
		j.found = append(j.found, replayFinding{f: online.Contradicts(n, uint32(wrong), uint32(other))})
	}
	if head.Status == history.Committed {
		j.front.add(j.g.who(head, n), head.End)
		j.stream.preds += preds
	}
	a.Impossible = wrong >= 0 && head.Status == history.Unknown
	if j.e.Add(a) {
		j.found = append(j.found, replayFinding{late: true, txn: j.id(head.HasID, head.ID, n)})
	}
	j.finish()
	return nil
}

// listIn returns an error if a transaction has an operation on a list.
func listIn(h *history.History, t uint32) error {
	for op := range h.EachOp(t) {
		if k := h.Ops.Kind[op]; k == history.Append || k == history.ReadList {
			return errors.New(`field "ops": a list; expected operations on registers, which is what the checker replay ` +
				`judges in a stream (lists: --checker aion)`)
		}
	}
	return nil
}

// untimed reports whether a transaction lacks times without which replay cannot judge it.
func (j *replayJudge) untimed(t *history.TxnHead) bool {
	return !t.Init && t.Status == history.Committed && (t.End == history.NoTime && t.CommitTS == history.NoTime ||
		t.Start == history.NoTime && j.o.Level.RealTime())
}

func lacksTimes(id int64) error {
	return fmt.Errorf("transaction %d lacks its start or its end; expected client times on every committed "+
		"transaction", id)
}

// ops sets the operations of an arrival. It returns two operations that contradict each other, or −1.
func (j *replayJudge) ops(h *history.History, t uint32) (wrong, other int) {
	a := &j.scratch.buf
	wrong = -1
	if j.scratch.stamp++; j.scratch.stamp == 0 {
		clear(j.scratch.use)
		j.scratch.stamp = 1
	}
	at := uint32(0)
	eachItem(h, t, func(kind history.OpKind, v, _ uint32) {
		k := h.VerKey[v]
		u := &j.scratch.use[k]
		if u.stamp != j.scratch.stamp {
			*u = keyUse{j.scratch.stamp, -1, -1}
		}
		o := online.Op{Key: j.scratch.keyOf[k], At: at, Val: h.Texts.Keyed(j.g.hash, h.VerValue(v))}
		at++
		switch {
		case kind == history.Write:
			if u.read >= 0 && a.Reads[u.read].Val == o.Val {
				j.e.Again(o.Key) // the value was written before
			}
			if u.write < 0 {
				u.write = int32(len(a.Writes))
				a.Writes = append(a.Writes, o)
				return
			}
			a.Lost = append(a.Lost, a.Writes[u.write])
			a.Writes[u.write] = o
		case u.write >= 0:
			if w := &a.Writes[u.write]; w.Val != o.Val {
				wrong, other = int(o.At), int(o.At)
			}
		case u.read >= 0:
			if r := &a.Reads[u.read]; r.Val != o.Val {
				wrong, other = int(o.At), int(r.At)
			}
		default:
			u.read = int32(len(a.Reads))
			a.Reads = append(a.Reads, o)
		}
	})
	return wrong, other
}

func (j *replayJudge) initial(b *Batch, i int) error {
	if j.stream.begun {
		return errors.New("the initial transaction comes after others; expected it first")
	}
	h, t := b.H, b.Lines[i].Txn
	j.stream.init = b.Lines[i].N
	for _, v := range h.EachOp(t) {
		j.e.SetInitial(j.scratch.keyOf[h.VerKey[v]], h.Texts.Keyed(j.g.hash, h.VerValue(v)))
	}
	return nil
}

// foreign handles a line that is not judged. It adds the operations that it understands, since others may read the
// writes.
func (j *replayJudge) foreign(b *Batch, i int) {
	var t struct {
		Ops []json.RawMessage `json:"ops"`
	}
	if json.Unmarshal(b.Text(i), &t) != nil {
		return
	}
	a := online.Arrival{Line: b.Lines[i].N, Session: online.NoSession, Start: history.NoTime, End: history.NoTime,
		Status: history.Unknown}
	for _, op := range t.Ops {
		l, err := jsonl.ReadLine(append(append([]byte(`{"ops":[`), op...), "]}"...), false)
		if err != nil {
			continue
		}
		eachItem(l.H, 0, func(kind history.OpKind, v, _ uint32) {
			if kind == history.Write {
				a.Writes = append(a.Writes, online.Op{Key: j.number(l.H.Texts, l.H.Keys[l.H.VerKey[v]]),
					Val: l.H.Texts.Keyed(j.g.hash, l.H.VerValue(v))})
			}
		})
	}
	j.fetch()
	j.e.Foreign(&a)
}

// id returns a transaction's id or, without one, its line number.
func (j *replayJudge) id(hasID bool, id, n int64) int64 {
	if hasID {
		return id
	}
	return n - j.stream.first
}

func (j *replayJudge) follow() {
	if v, any := j.front.value(); any && j.o.Lateness < AllLate {
		j.advance(plus(v, -j.o.Lateness))
	}
}

func (j *replayJudge) advance(mark int64) {
	j.mark = max(j.mark, mark)
	j.e.Advance(j.mark)
	j.collect()
}

// collect fetches the engine's findings, and notes whether its call returned early.
func (j *replayJudge) collect() {
	for _, f := range j.e.Take() {
		j.found = append(j.found, replayFinding{f: f})
	}
	j.progress.cut = j.e.Cut()
}

// Lost says that lines before the next ones are lost.
func (j *replayJudge) Lost() { j.e.Lost() }

// Clock ends waits for late writers.
func (j *replayJudge) Clock(now int64) {
	if !j.goesOn() {
		return
	}
	j.g.tick(now)
	j.e.Clock(j.g.pace.clock, int64(j.o.Gate.Patience))
	j.collect()
}

func (j *replayJudge) Tick() (every, rest time.Duration) { return ticking(0, j.o.Gate) }

func (j *replayJudge) Quiet() (int64, bool) {
	if j.o.Lateness >= AllLate {
		return 0, false
	}
	if j.g.waits() {
		return math.MinInt64, true
	}
	return j.e.Latest()
}

func (j *replayJudge) Advance(mark int64) {
	if !j.goesOn() {
		return
	}
	if j.g.waits() {
		j.g.release(j.let)
		mark, _ = j.Quiet()
	}
	if j.advance(mark); !j.progress.cut {
		j.e.EndWaits()
		j.collect()
	}
}

func (j *replayJudge) End() {
	if !j.goesOn() || j.progress.ended {
		return
	}
	j.g.release(j.let)
	j.e.Settle()
	j.collect()
	j.progress.ended = !j.progress.cut
}

func (j *replayJudge) Stats(s *Snapshot) {
	x := j.e.Stats()
	s.Txns, s.Late, s.Window, s.Keys = x.Txns, x.Late, x.Pending, int(j.keys.Known())
	s.Classes = []string{violated}
	if x.Watermark != math.MinInt64 {
		s.Watermark, s.WatermarkAt = x.Watermark, j.g.time(x.Watermark)
	}
	s.More = []Count{
		{"misfits_total", "counter", "Reads that contradicted the order at first.",
			"contradicting reads", x.Misfits},
		{"windows_total", "counter", "Windows that were solved.", "windows", x.Windows},
		{"largest_window", "gauge", "Transactions in the largest window.", "largest window", int64(x.Largest)},
		{"undecided_total", "counter", "Reads that are undecided.", "undecided", x.Undecided + x.Skipped},
		unjudgedPredicates(j.stream.preds),
		{"skipped_total", "counter", "Undecided reads that exceeded the budget for proofs.",
			"skipped", x.Skipped},
		{"unknown", "gauge", "Transactions of unknown outcome that may still be read.", "unknown outcomes",
			int64(x.Unknown)},
		{"spilled_keys", "gauge", "Keys whose state is on disk.", "keys on disk", j.keys.Stored()},
		{"shortened_total", "counter", "How often transactions became final early, for lack of memory.",
			"early finals", j.mem.shortened},
		{"suspects", "gauge", "Reads of values whose writer has not arrived.", "suspects", int64(x.Suspects)},
		{"suspects_confirmed_total", "counter", "Suspects that were violations.", "suspects confirmed", x.Confirmed},
		{"suspects_withdrawn_total", "counter", "Suspects that a late transaction explained.", "suspects withdrawn",
			x.Withdrawn},
		{"remembered", "gauge", "Transactions of the order in memory.", "in memory", int64(x.Window)},
	}
	s.More = append(s.More, j.g.counts()...)
}
