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

// Judge is what a stream is checked by. All that it does is a function of the calls of Take, Advance and End, in their
// order, so that who starts again with the log comes to the same; how lines are cut into batches makes no difference.
type Judge interface {
	// Settings are the options on which the findings depend, the checker's name first. A folder keeps to those that it
	// was begun with.
	Settings() []Setting
	// Begin comes first. line returns a line of the log again, by its number; the result is valid until the next call.
	Begin(line func(n int64) ([]byte, error))
	// Checkpoint writes all that the judge knows, as of the calls so far, to files of its own choice in a folder that
	// is there and empty. They need not be synced; a file may be a hard link to one that is never changed again. It is
	// called between two other calls, when Findings has handed over everything, and what comes waits for it.
	Checkpoint(dir string) error
	// Restore, called after Begin and before all else, makes a new judge with the same Settings one that has had the
	// calls before a Checkpoint: what it does from then on is what that one did, to the last violation. It may keep no
	// file of the folder open or in use, for the folder goes when later ones are there. An error that wraps
	// freeze.ErrDamaged or fs.ErrNotExist leaves the judge as it was; the checkpoint before is tried then.
	Restore(dir string) error
	// Take takes lines, and tells bad of those that it does not understand. An error ends the watch. The batch is valid
	// until the next call.
	Take(b *Batch, bad func(place int64, err error)) error
	// Clock says what time it is, in ns since 1970, before what follows.
	Clock(now int64)
	// Tick is how often Clock is to be called, as long as lines come and for Rest after; 0: never.
	Tick() (every, rest time.Duration)
	// Quiet is asked when nothing has arrived for a while: up to where everything would be final; false: there is
	// nothing yet.
	Quiet() (mark int64, some bool)
	// Advance says that what arrives from now on and belongs before the mark is late.
	Advance(mark int64)
	// End says that the source has ended: everything is final. What comes all the same, when it goes on, is late if it
	// begins before what there is.
	End()
	// Findings hands over what has become final since it was last called, in order.
	Findings(each func(f *Finding) error) error
	// Stats fills in what the judge knows.
	Stats(s *Snapshot)
}

// Finding is a violation that has become final, or a transaction that is not judged. It is valid during the call that
// it is handed to.
type Finding struct {
	// Class is what the metrics count by; Kind is finer, and may be "".
	Class, Kind string
	Key         string // as JSON; "": none, or any
	Txns        []int64
	// Unjudged: it says nothing against the database.
	Unjudged bool
	// Proved: it is proved to violate the level. Tries: to make the line of one that tried takes is to try whether it
	// is, which the line says.
	Proved, Tries bool
	// Line makes its JSON line, with its number.
	Line func(n int64) ([]byte, error)
	// Prove makes a small history that shows it; nil: there is none.
	Prove func(log *Log) (*Proof, error)
}

// Proof is a small history of a violation, as isovet check takes it.
type Proof struct {
	H *history.History
	R *evidence.Result // nil: there is no certificate
	// Why there is no certificate, or, where H is nil, no history.
	Why string
}

// Interruptible is a judge of which a call may take long.
type Interruptible interface {
	// Until has calls, of Checkpoint and Restore none, end early once stop says so, which is asked every second of CPU
	// at least.
	Until(stop func() bool)
	// Cut reports whether the last call has ended early. The next call of the judge, or of one that is restored from a
	// Checkpoint made then, is the same, with the same batch; it goes on where this one has ended. A call of Findings
	// keeps what it has not handed over.
	Cut() bool
}

// stateFile is what judges call the file that has most of their state.
const stateFile = "state"

// The classes of transactions that are not judged: they came too late, or are too far ahead; or that are missed.
const (
	late   = "LATE"
	jumped = "JUMP"
	gap    = "GAP"
)

// Violation is a final violation of timestamps, or a transaction that is not judged, as the file has it.
type Violation struct {
	N     int64  `json:"n"` // from 1, in the order in which they became final
	Axiom string `json:"axiom"`
	// of EXT, as far as the window knows: own, before, uncommitted, after; of JUMP: how far
	Why string `json:"why,omitempty"`
	Txn int64  `json:"txn"`
	// SESSION: the one before; NOCONFLICT: who committed first; EXT: who installed what should have been read; LATE,
	// of a read: who wrote it
	Other *int64          `json:"other,omitempty"`
	Key   json.RawMessage `json:"key,omitempty"`
	Op    *uint32         `json:"op,omitempty"` // the read's place in the transaction, from 0
	// GAP: the first and the last number that are missing in the session
	Missing []int64 `json:"missing,omitempty"`
	// ProofAssumes is what EXT takes for granted in a stream from the midst; "": nothing.
	ProofAssumes string `json:"proof_assumes,omitempty"`
}

// finding hands it over.
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

// Unjudged reports whether what is of a class, such as LATE, says nothing against the database.
func Unjudged(class string) bool { return unjudged(class) }

func unjudged(class string) bool {
	return class == late || class == jumped || class == gap || class == undecided
}

// ticking is how often the clock is told, and for how long after the last line.
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

// Fitting is a judge that knows of a transaction by itself that it will not understand it. Unfit returns a function of
// the lines of a batch, nil: it is understood as far as one can tell. It may be called by other goroutines than the
// judge's.
type Fitting interface {
	Unfit(b *Batch) func(i int) error
}

// unfit says why a transaction cannot be judged by timestamps.
func unfit(h *history.History, n uint32, t *history.TxnHead, id int64) error {
	if !noPart(t) && !t.Init && (t.StartTS == history.NoTime || t.CommitTS == history.NoTime) {
		return fmt.Errorf("transaction %d has not both start_ts and commit_ts; expected the database's "+
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

// noPart says that a transaction takes no part in what timestamps decide.
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

// hashing is a judge whose hashes of values depend on a key, which is set before all else. It is nil if it is fixed.
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

// hashKeyFile has a folder's key, of 128 bits, in hexadecimal. A checkpoint has it, too; from here has it who begins
// again with the log alone, and so comes to the same.
const hashKeyFile = "hash-key"

// keepKey makes a key the folder's, for which it draws one where there is none.
func keepKey(dir string, key *keyed.Key) error {
	if key == nil {
		return nil
	}
	path := filepath.Join(dir, hashKeyFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		text = fmt.Appendf(nil, "%x\n", drawn())
		err = writeHashKey(dir, path, text)
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

func drawn() (seed [keyed.Size]byte) {
	rand.Read(seed[:]) // which does not fail
	return seed
}

// writeHashKey writes the file whole or not at all.
func writeHashKey(dir, path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	return errors.Join(err, syncDir(dir))
}
