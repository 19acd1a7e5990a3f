package watch

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/keyed"
)

// Judge checks a stream. Its results depend only on the order and the arguments of the calls of Take, Advance, Clock
// and End, so that a restart from the log gives the same results. The division of lines into batches does not matter.
type Judge interface {
	// Settings returns the options that influence the findings, with the checker's name first. A folder can be
	// continued only with the same settings.
	Settings() []Setting
	// Begin is called first. line returns a line of the log by its number. Its result is valid until the next call.
	Begin(line func(n int64) ([]byte, error))
	// Checkpoint writes the judge's state to files of its choice in an existing empty folder. It need not sync them. A
	// file may be a hard link to a file that never changes again. It is called between two other calls, after Findings
	// has returned everything. New lines wait for it.
	Checkpoint(dir string) error
	// Restore is called after Begin, before all other calls, on a judge with the same Settings. It loads the state of
	// a Checkpoint, after which the judge behaves like the one that wrote it. The judge must not keep a file of the
	// folder open, since the folder is removed later. An error that wraps freeze.ErrDamaged or fs.ErrNotExist leaves
	// the judge unchanged; the watch then tries an earlier checkpoint.
	Restore(dir string) error
	// Take judges lines. It calls bad for lines that it does not understand. An error ends the watch. The batch is
	// valid only during the call.
	Take(b *Batch, bad func(place int64, err error)) error
	// Clock sets the time for the following calls, in ns since 1970.
	Clock(now int64)
	// Tick returns the period for calls of Clock while lines arrive, and for how long these go on after the last line;
	// 0 means never.
	Tick() (every, rest time.Duration)
	// Quiet is called when no line has arrived for a while. It returns the mark that Advance needs to make everything
	// final, or false if there is nothing yet.
	Quiet() (mark int64, some bool)
	// Advance moves the watermark: transactions before the mark that arrive after this call are late.
	Advance(mark int64)
	// Lost says that lines before the next ones are lost. Reads of values without a writer then accuse nobody.
	Lost()
	// End says that the source has ended, and makes everything final. If the stream goes on later, transactions that
	// begin before those seen so far are late.
	End()
	// Findings calls each with the findings that became final since its last call, in order.
	Findings(each func(f *Finding) error) error
	// Stats sets the judge's fields of a snapshot.
	Stats(s *Snapshot)
}

// Finding is a final violation, or a transaction that is not judged. It is valid only during the call that receives it.
type Finding struct {
	// Class is the label of the metrics. Kind is finer and may be "".
	Class, Kind string
	Key         string // as JSON; "": none, or any
	Txns        []int64
	// Unjudged says that transactions were not judged, so that the finding accuses nobody.
	Unjudged bool
	// Proved says that it is proved to violate the level. Tries says that Line tries a proof if tried selects the
	// violation; the line then has the result.
	Proved, Tries bool
	// Line returns the JSON line, with number n.
	Line func(n int64) ([]byte, error)
	// Prove makes a small history that shows the violation. It is nil if there is none.
	Prove func(log *Log) (*Proof, error)
}

// Proof is a small history of a violation, for isovet check.
type Proof struct {
	H *history.History
	R *evidence.Result // nil: there is no certificate
	// Why says why the certificate is missing or, if H is nil, the history.
	Why string
}

// Interruptible is a judge whose calls may take long and can be interrupted.
type Interruptible interface {
	// Until makes calls, other than Checkpoint and Restore, return early when stop returns true. They call stop at
	// least once for each second of CPU time.
	Until(stop func() bool)
	// Cut reports whether the last call returned early. The caller must then repeat this call with the same batch, on
	// this judge or on one restored from a Checkpoint made now; it continues the work. Findings keeps the findings
	// that it has not reported.
	Cut() bool
}

// stateFile is the name of the file with most of a judge's state.
const stateFile = "state"

// The classes of transactions that are not judged: too late, too far ahead, or missing.
const (
	late   = "LATE"
	jumped = "JUMP"
	gap    = "GAP"
)

// Violation is a line of the file of violations by timestamps: a final violation, or a transaction that is not judged.
type Violation struct {
	N     int64  `json:"n"` // from 1, in the order in which they became final
	Axiom string `json:"axiom"`
	// Why is, for EXT, the kind of wrong read if known (own, before, uncommitted, after); for JUMP, how far it is
	// ahead.
	Why string `json:"why,omitempty"`
	Txn int64  `json:"txn"`
	// Other is another transaction. SESSION: the preceding one; NOCONFLICT: the first to commit; EXT: the writer of
	// the version that should have been read; LATE: the writer.
	Other *int64          `json:"other,omitempty"`
	Key   json.RawMessage `json:"key,omitempty"`
	Op    *uint32         `json:"op,omitempty"` // the read's place in the transaction, from 0
	// Missing is for GAP: the first and the last missing number of the session.
	Missing []int64 `json:"missing,omitempty"`
	// ProofAssumes is what a finding about EXT assumes, such as that values do not repeat; "" if nothing.
	ProofAssumes string `json:"proof_assumes,omitempty"`
}

func (v *Violation) finding() *Finding {
	f := &Finding{Class: v.Axiom, Txns: []int64{v.Txn}, Line: func(n int64) ([]byte, error) {
		v.N = n
		return json.Marshal(v)
	}}
	if Unjudged(v.Axiom) {
		f.Unjudged = true
		return f
	}
	f.Kind, f.Key = v.Why, string(v.Key)
	return f
}

// Unjudged reports whether a class, such as LATE, accuses nobody because transactions were not judged.
func Unjudged(class string) bool {
	return class == late || class == jumped || class == gap || class == undecided
}

// ticking returns the result of Judge.Tick: the period for calls of Clock, and their duration after the last line.
func ticking(wait time.Duration, o GateOptions) (every, rest time.Duration) {
	if wait <= 0 && o.MaxJump <= 0 && o.Patience <= 0 {
		return 0, 0
	}
	every = time.Second
	if wait > 0 {
		every = min(every, max(wait/10, 10*time.Millisecond))
	}
	return every, wait + o.Patience + every
}

// Fitting is a judge that can say from a transaction alone that it will not understand it. Unfit returns a function
// that returns an error for such a line of a batch. Other goroutines than the judge's may call it.
type Fitting interface {
	Unfit(b *Batch) func(i int) error
}

// unfit returns an error if a transaction cannot be judged by timestamps.
func unfit(t *history.TxnHead, id int64) error {
	if !noPart(t) && !t.Init && (t.StartTS == history.NoTime || t.CommitTS == history.NoTime) {
		return fmt.Errorf("transaction %d lacks its start_ts or its commit_ts; expected the database's "+
			"timestamps on every committed transaction", id)
	}
	if t.HasSeq && t.Seq < 0 {
		return fmt.Errorf("transaction %d, field %q: %d; expected a place in the session, from 0", id, "seq", t.Seq)
	}
	return nil
}

// unjudgedPredicates is the count of predicate operations that were judged in part.
func unjudgedPredicates(n int64) Count {
	return Count{"predicates_unjudged_total", "counter", "Predicate operations judged in part.", "in part", n}
}

// eachItem calls f with the reads and writes of a transaction, their versions, and the operation that each belongs to.
// A predicate operation is a read of each row that it matched, then a write of each that it changed (history.Items).
func eachItem(h *history.History, t uint32, f func(kind history.OpKind, ver, op uint32)) {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi; op++ {
		v := h.Ops.Ver[op]
		switch kind := h.Ops.Kind[op]; kind {
		case history.Read, history.Write:
			f(kind, v, op-lo)
		case history.PredRead, history.PredWrite:
			from, to := h.Preds.Off[v], h.Preds.Off[v+1]
			for i, v := range slices.Concat(h.Preds.Old[from:to], h.Preds.New[from:to]) {
				if v != history.None {
					f([]history.OpKind{history.Read, history.Write}[i/int(to-from)], v, op-lo)
				}
			}
		}
	}
}

// noPart reports whether a transaction is irrelevant for timestamps.
func noPart(t *history.TxnHead) bool {
	return t.Status == history.Aborted || t.Status == history.Unknown && t.CommitTS == history.NoTime
}

// Unfit implements Fitting.
func (j *aion) Unfit(b *Batch) func(i int) error {
	return func(i int) error { return unfit(&b.Heads[b.Lines[i].Txn], b.idOf(i)) }
}

// Unfit implements Fitting.
func (j *replayJudge) Unfit(b *Batch) func(i int) error {
	return func(i int) error {
		t := b.Lines[i].Txn
		if j.untimed(&b.Heads[t]) {
			return lacksTimes(b.idOf(i))
		}
		return listIn(b.H, t)
	}
}

// Unfit implements Fitting.
func (j *leopard) Unfit(b *Batch) func(i int) error {
	stream := mechanism.NewStream(keyed.Draw())
	stream.Piece(b.H)
	var buf []mechanism.Trace
	return func(i int) (err error) {
		t := b.Lines[i].Txn
		if b.Heads[t].Init {
			return nil
		}
		buf, err = stream.Txn(buf[:0], t, 0)
		return err
	}
}

// hashing is a judge whose hashes of values need a key, which must be set first. The key is nil if it is fixed.
type hashing interface {
	hashes() *keyed.Key
}

func (j *aion) hashes() *keyed.Key        { return j.g.own() }
func (j *leopard) hashes() *keyed.Key     { return j.g.own() }
func (j *replayJudge) hashes() *keyed.Key { return j.g.own() }

func (g *gate) own() *keyed.Key {
	if g.o.Hash != nil {
		return nil
	}
	return g.hash
}

// hashKeyFile has the folder's 128-bit hash key, in hexadecimal. Checkpoints have it too, but a restart from the log
// alone needs the file to give the same results.
const hashKeyFile = "hash-key"

// keepKey sets the key to the one in the folder. If the folder has none, it draws one and stores it.
func keepKey(dir string, key *keyed.Key) error {
	if key == nil {
		return nil
	}
	path := filepath.Join(dir, hashKeyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var seed [keyed.Size]byte
		rand.Read(seed[:]) // never fails
		text = fmt.Appendf(nil, "%x\n", seed)
		err = errors.Join(disk{}.replace(path, text), syncDir(dir))
	}
	if err != nil {
		return err
	}
	seed, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(seed) != keyed.Size {
		return fmt.Errorf("%s: expected %d hexadecimal digits; without the file, watch makes a new "+
			"key", path, 2*keyed.Size)
	}
	*key = *keyed.Of([keyed.Size]byte(seed))
	return nil
}
