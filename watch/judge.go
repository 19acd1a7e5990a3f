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
	"strings"
	"time"

	"isovet/check/mechanism"
	"isovet/evidence"
	"isovet/history"
	"isovet/internal/keyed"
)

// Judge checks a stream. Its results depend only on the calls of Take, Advance, Clock and End, in their order, so that
// a restart from the log gives the same results. The division of lines into batches does not matter.
type Judge interface {
	// Settings returns the options that influence the findings, the checker's name first. A folder allows only the
	// options that it was begun with.
	Settings() []Setting
	// Begin comes first. line returns a line of the log again, by its number; the result is valid until the next call.
	Begin(line func(n int64) ([]byte, error))
	// Checkpoint writes the judge's state, after the calls so far, to files of its choice in an existing empty
	// folder. It need not sync them. A file may be a hard link to one that never changes again. It is called
	// between two other calls, when Findings has returned everything; arriving lines wait for it.
	Checkpoint(dir string) error
	// Restore, called after Begin and before all else, gives a new judge with the same Settings the state of a
	// Checkpoint: it then behaves exactly as the judge of the checkpoint did. It must not keep a file of the folder
	// open, since the folder is removed later. An error that wraps freeze.ErrDamaged or fs.ErrNotExist leaves the
	// judge unchanged; the checkpoint before is tried next.
	Restore(dir string) error
	// Take takes lines, and calls bad for those that it does not understand. An error ends the watch. The batch is
	// valid until the next call.
	Take(b *Batch, bad func(place int64, err error)) error
	// Clock sets the time of the following calls, in ns since 1970.
	Clock(now int64)
	// Tick returns the period for calls of Clock while lines arrive, and for how long after the last; 0: never.
	Tick() (every, rest time.Duration)
	// Quiet is called when nothing has arrived for a while. It returns the mark up to which everything would be
	// final; false if there is nothing yet.
	Quiet() (mark int64, some bool)
	// Advance makes later arrivals before the mark late.
	Advance(mark int64)
	// End says that the source has ended: everything is final. If it goes on later, arrivals that begin before the
	// present ones are late.
	End()
	// Findings calls each with the findings that have become final since its last call, in order.
	Findings(each func(f *Finding) error) error
	// Stats sets the judge's fields of a snapshot.
	Stats(s *Snapshot)
}

// Finding is a final violation, or a transaction that is not judged. It is valid during the call that gets it.
type Finding struct {
	// Class is the key of the metrics' counts; Kind is finer, and may be "".
	Class, Kind string
	Key         string // as JSON; "": none, or any
	Txns        []int64
	// Unjudged says that it is no accusation.
	Unjudged bool
	// Proved says that it is proved to violate the level. Tries says that making its line tries to prove it, if
	// tried selects it; the line has the result.
	Proved, Tries bool
	// Line makes its JSON line with number n.
	Line func(n int64) ([]byte, error)
	// Prove makes a small history that shows it; nil: it has none.
	Prove func(log *Log) (*Proof, error)
}

// Proof is a small history of a violation, for isovet check.
type Proof struct {
	H *history.History
	R *evidence.Result // nil: there is no certificate
	// Why says why there is no certificate, or, if H is nil, no history.
	Why string
}

// Interruptible is a judge whose calls may take long.
type Interruptible interface {
	// Until makes calls, other than Checkpoint and Restore, end early when stop returns true. They call stop at
	// least once a second of CPU time.
	Until(stop func() bool)
	// Cut reports whether the last call ended early. The next call, of this judge or of one restored from a
	// Checkpoint made then, must be the same, with the same batch; it goes on where this one ended. Findings keeps
	// the findings that it has not passed on.
	Cut() bool
}

// stateFile is the name of the file with most of a judge's state.
const stateFile = "state"

// The classes of transactions that are not judged: they arrived too late, are too far ahead, or are missing.
const (
	late   = "LATE"
	jumped = "JUMP"
	gap    = "GAP"
)

// Violation is a final violation of timestamps, or a transaction that is not judged, in the form of the file.
type Violation struct {
	N     int64  `json:"n"` // from 1, in the order in which they became final
	Axiom string `json:"axiom"`
	// for EXT, as far as the window knows: own, before, uncommitted, after; for JUMP: how far
	Why string `json:"why,omitempty"`
	Txn int64  `json:"txn"`
	// SESSION: the one before; NOCONFLICT: the first to commit; EXT: the writer of the version to be read; LATE:
	// the writer
	Other *int64          `json:"other,omitempty"`
	Key   json.RawMessage `json:"key,omitempty"`
	Op    *uint32         `json:"op,omitempty"` // the read's place in the transaction, from 0
	// GAP: the first and the last missing number of the session
	Missing []int64 `json:"missing,omitempty"`
	// ProofAssumes is the assumption of EXT in a stream that begins in the middle; "": none.
	ProofAssumes string `json:"proof_assumes,omitempty"`
}

// finding returns it as a Finding.
func (v *Violation) finding() *Finding {
	f := &Finding{Class: v.Axiom, Txns: []int64{v.Txn}, Line: func(n int64) ([]byte, error) {
		v.N = n
		return json.Marshal(v)
	}}
	if unjudged(v.Axiom) {
		f.Unjudged = true
		return f
	}
	f.Kind, f.Key = v.Why, string(v.Key)
	return f
}

// Unjudged reports whether a class, such as LATE, is no accusation.
func Unjudged(class string) bool { return unjudged(class) }

func unjudged(class string) bool {
	return class == late || class == jumped || class == gap || class == undecided
}

// ticking returns the period of calls of Clock, and for how long they go on after the last line.
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

// Fitting is a judge that can tell by a transaction alone that it will not understand it. Unfit returns a function that
// returns an error for such a line of a batch. Goroutines other than the judge's may call it.
type Fitting interface {
	Unfit(b *Batch) func(i int) error
}

// unfit returns an error if a transaction cannot be judged by timestamps.
func unfit(h *history.History, n uint32, t *history.TxnHead, id int64) error {
	if !noPart(t) && !t.Init && (t.StartTS == history.NoTime || t.CommitTS == history.NoTime) {
		return fmt.Errorf("transaction %d lacks its start_ts or its commit_ts; expected the database's "+
			"timestamps on every committed transaction", id)
	}
	if t.HasSeq && t.Seq < 0 {
		return fmt.Errorf("transaction %d, field %q: %d; expected a place in the session, from 0", id, "seq", t.Seq)
	}
	if h.HasPredicates() {
		for _, k := range h.Ops.Kind[h.Txns.OpOff[n]:h.Txns.OpOff[n+1]] {
			if k == history.PredRead || k == history.PredWrite {
				return fmt.Errorf("transaction %d, field %q: a predicate operation; watch checks registers and lists",
					id, "ops")
			}
		}
	}
	return nil
}

// noPart reports whether a transaction does not matter for timestamps.
func noPart(t *history.TxnHead) bool {
	return t.Status == history.Aborted || t.Status == history.Unknown && t.CommitTS == history.NoTime
}

// Unfit implements Fitting.
func (j *aion) Unfit(b *Batch) func(i int) error {
	return func(i int) error {
		t := b.Lines[i].Txn
		id := b.Heads[t].ID
		if !b.Heads[t].HasID {
			id = b.Lines[i].N
		}
		return unfit(b.H, t, &b.Heads[t], id)
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

// hashing is a judge whose hashes of values depend on a key, which is set before all else. The key is nil if it is
// fixed.
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

// hashKeyFile has a folder's key of 128 bits, in hexadecimal. Checkpoints have it too; the file is for a restart from
// the log alone, which must give the same results.
const hashKeyFile = "hash-key"

// keepKey sets the key to the folder's, and draws one if the folder has none.
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
