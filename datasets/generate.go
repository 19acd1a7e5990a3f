package datasets

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"isovet/datasets/store"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// Times says which client times a generated history contains.
type Times uint8

const (
	AllTimes Times = iota // transactions and operations
	TxnTimes              // transactions only
	// NoTimes leaves all times out. Transactions are then sorted by session, since another order in the file would
	// show the time.
	NoTimes
)

// Hint says how the client times are falsified at the end. With all but TrueTimes the history may violate every level
// with real time; the verdicts at other levels do not change.
type Hint uint8

const (
	TrueTimes     Hint = iota
	ReversedTimes      // the last is first
	RandomTimes        // every transaction's interval is moved to where another one's was
)

// Spec says which history to generate. The zero value means BlindW-WR, 10,000 transactions in 24 sessions,
// serializable by two-phase locking, with client times, seed 0.
type Spec struct {
	Workload string  // "": blindw; workload.All lists them
	Variant  string  // "": the workload's first
	Txns     int     // committed transactions; 0: 10,000. The initial transaction is not counted
	Sessions int     // 0: 24
	Keys     int     // 0: the workload's default
	Ops      int     // operations a transaction; 0: the workload's default
	Zipf     float64 // exponent of the keys' distribution, where the workload has one; 0: the workload's default
	// Values is the number of values from which the writes of a key are drawn, in plain tables. 0 means the variant's
	// default, which is usually a unique value for each write.
	Values int
	Shape  string // workload.Params.Shape
	// FenceEvery makes each session run a fence transaction after so many others (workload.Fenced); 0 means never.
	FenceEvery int
	// Isolation is the store's concurrency control: "" or "serializable" (two-phase locking), "serializable-snapshot",
	// "snapshot-isolation", "repeatable-read" (no range locks), "read-committed", "read-uncommitted", or a short name.
	Isolation string
	Seed      uint64
	// Fault is the name of the anomaly to plant, or several names separated by commas, which take turns; "" means
	// none. FaultNames lists them.
	Fault string
	// Faults is the number of planted faults, spread evenly over the run from FaultAt on; 0 means one.
	Faults  int
	FaultAt int // plant the first once so many transactions have committed; 0: in the middle, or of many early

	// Break is a part of the store's concurrency control that fails once, after FaultAt commits. store.Breaks lists
	// the parts.
	Break string

	Times   Times
	Hint    Hint
	DBTimes bool // database timestamps too; a fault of timestamps implies it
	// Skew shifts each client's clock by a random offset in [-Skew, Skew] ns.
	Skew int64
	// AbortRate is the share of transactions that their clients roll back, UnknownRate the share of commits whose
	// answer is lost.
	AbortRate, UnknownRate float64
	// UnknownOld is the share of predicate writes whose clients do not learn the replaced versions.
	UnknownOld float64
	// NoAborted leaves aborted transactions out.
	NoAborted bool
	// LongTxn leaves one transaction open through the whole run.
	LongTxn bool
}

// Result is a generated history with data about the run.
type Result struct {
	History *history.History // nil: of Stream
	Planted []int64          // ids of the transactions of the faults
	Faults  []Planted        // which of them belong together
	Stats   store.Stats
}

// Planted is a planted fault: its name, the ids of its transactions, and the levels that they violate.
type Planted struct {
	Fault    string        `json:"fault"`
	Txns     []int64       `json:"transactions"`
	Violates []level.Level `json:"violates"`
	// Timestamps says that Violates is of timestamp checkers (Anomaly.Timestamps).
	Timestamps bool `json:"timestamps,omitempty"`
}

// Generate runs the workload on the in-memory store and returns what its clients saw. The same spec gives the same
// history, byte for byte. Errors: an unknown name (the error lists the names), an impossible size, ctx's end. Cost:
// about 3 µs for a transaction of 8 operations, 60 bytes an operation at the peak.
func Generate(ctx context.Context, spec Spec) (*history.History, error) {
	r, err := Run(ctx, spec)
	if err != nil {
		return nil, err
	}
	return r.History, nil
}

// Breaks returns the names of the parts of the store's concurrency control that can fail.
func Breaks() []string { return store.Breaks() }

// Isolations returns the names of the store's concurrency controls.
func Isolations() []string { return store.Isolations() }

// Run is Generate with more results.
func Run(ctx context.Context, spec Spec) (*Result, error) { return RunTold(ctx, spec, nil) }

// RunTold is Run with progress: every few thousand events it calls tell, unless that is nil.
func RunTold(ctx context.Context, spec Spec, tell func(stage string, done, total int)) (*Result, error) {
	p, err := prepare(spec)
	if err != nil {
		return nil, err
	}
	if tell != nil {
		p.cfg.Progress = func(committed int) { tell("running", committed, p.spec.Txns) }
	}
	log, err := store.Run(ctx, p.cfg)
	if err != nil {
		return nil, err
	}
	if tell != nil {
		tell("recording the clients' observations", 0, 0)
	}
	b := history.NewBuilder()
	c := convert{spec: &p.spec, log: log, b: b, values: p.params.Values}
	planted := c.fill()
	b.Meta = p.meta(log.Tables)
	r := &Result{Planted: planted, Faults: p.planted(c.scripts), Stats: log.Stats}
	b.Meta.Note = p.note(append([]int64{}, planted...))
	if r.History, err = b.Build(); err != nil {
		return nil, fmt.Errorf("the generated history is refused: %w", err)
	}
	return r, nil
}

// convert turns a log into a history.
type convert struct {
	spec *Spec
	log  *store.Log
	b    *history.Builder
	key  []uint32 // row → key of the history

	id      int64 // of the last transaction
	names   map[string]uint32
	offset  []int64   // of each session's clock
	scripts [][]int64 // ids of each script's transactions

	batch uint32   // of Stream: the batch's number, from 1; else 0
	keyIn []uint32 // row → the batch that key is of

	values int // as workload.Params.Values

	cells   workload.RowText
	rng     *rand.Rand // of the old versions that clients do not learn
	text    []byte
	rows    []uint32 // half of a row's place in log.Cells, where it has two at least → 1 + its text
	matched []history.PredRow
	elems   []history.Value
}

// begin prepares the fields that do not depend on the log.
func (c *convert) begin() {
	c.rng = rand.New(rand.NewPCG(c.spec.Seed, 0x01d))
	c.cells = workload.NewRowText(c.log.Tables)
	c.names = make(map[string]uint32)
	c.offset = make([]int64, c.spec.Sessions)
	if c.spec.Skew > 0 {
		rng := rand.New(rand.NewPCG(c.spec.Seed, 0x5e3))
		for i := range c.offset {
			c.offset[i] = rng.Int64N(2*c.spec.Skew+1) - c.spec.Skew
		}
	}
}

// fill adds all transactions to the builder: the initial one with id 0, then the log's with ids 1, 2, … It returns the
// ids of planted transactions.
func (c *convert) fill() []int64 {
	c.begin()
	c.init()
	order := c.order()
	shift := c.shifts(order)
	var planted []int64
	for at, i := range order {
		if at == len(order)/16 && at > 100 {
			c.b.ReserveRows(15 * 33. / 32)
		}
		move := int64(0)
		if shift != nil {
			move = shift[i]
		}
		if c.txn(&c.log.Txns[i], move) {
			planted = append(planted, c.id)
		}
	}
	return planted
}

// txn adds a transaction with its times shifted by move, and reports whether it was planted.
func (c *convert) txn(t *store.LogTxn, move int64) bool {
	spec := c.spec
	c.id++
	move += c.offset[t.Session]
	for _, op := range c.log.Ops[t.Off : t.Off+int(t.N)] {
		c.op(&op)
		if spec.Times == AllTimes {
			c.b.OpTimes(op.Start+move, op.End+move)
		}
	}
	head := history.NewTxnHead()
	head.ID, head.HasID = c.id, true
	head.Session, head.HasSess = int64(t.Session), true
	head.Status = history.Status(t.Status)
	if spec.Times != NoTimes {
		head.Start = moved(t.Start, move)
		head.Commit = moved(t.Commit, move)
		head.End = moved(t.End, move)
	}
	if spec.DBTimes {
		head.StartTS, head.CommitTS = moved(t.StartTS, 0), moved(t.CommitTS, 0)
	}
	n, ok := c.names[t.Name]
	if !ok {
		n = c.b.Text([]byte(t.Name))
		c.names[t.Name] = n
	}
	head.Name = n
	c.b.EndTxn(head)
	if t.Script > 0 {
		for len(c.scripts) < int(t.Script) {
			c.scripts = append(c.scripts, nil)
		}
		c.scripts[t.Script-1] = append(c.scripts[t.Script-1], c.id)
	}
	return t.Planted
}

func moved(t, by int64) int64 {
	if t == store.NoTime {
		return history.NoTime
	}
	return t + by
}

// keyOf returns the key of a row. In a batch of Stream it adds the key at its first use.
func (c *convert) keyOf(r uint32) uint32 {
	if c.batch == 0 {
		return c.key[r]
	}
	for int(r) >= len(c.key) {
		c.key = append(c.key, 0)
		c.keyIn = append(c.keyIn, 0)
	}
	if c.keyIn[r] != c.batch {
		c.keyIn[r], c.key[r] = c.batch, c.b.Key(c.log.Rows[r].Value(c.b, c.log.Tables))
	}
	return c.key[r]
}

// init adds the touched keys, sorted, and the transaction that loaded them.
func (c *convert) init() {
	rows := slice.Places[uint32](c.log.Touched, func(touched bool) bool { return touched })
	slices.SortFunc(rows, func(a, b uint32) int { return cmp.Compare(c.log.Rows[a], c.log.Rows[b]) })
	c.key = make([]uint32, len(c.log.Rows))
	loaded := false
	for _, r := range rows {
		c.key[r] = c.b.Key(c.log.Rows[r].Value(c.b, c.log.Tables))
		if c.log.Loaded(r) {
			c.b.Write(c.key[r], c.value(r, c.log.First(r)))
			loaded = true
		}
	}
	if !loaded {
		return
	}
	head := history.NewTxnHead()
	head.HasID, head.Init = true, true
	head.Name = c.b.Text([]byte("load"))
	c.b.EndTxn(head)
}

// order returns the log's transactions in the order of the file.
func (c *convert) order() []uint32 {
	txns := c.log.Txns
	out := make([]uint32, 0, len(txns))
	for i := range txns {
		if c.spec.NoAborted && txns[i].Status == store.Aborted && !txns[i].Planted {
			continue
		}
		out = append(out, uint32(i))
	}
	if c.spec.Times == NoTimes {
		slices.SortStableFunc(out, func(a, b uint32) int { return cmp.Compare(txns[a].Session, txns[b].Session) })
	}
	return out
}

// shifts returns by how much each transaction's times are shifted, or nil for true times.
func (c *convert) shifts(order []uint32) []int64 {
	if c.spec.Hint == TrueTimes {
		return nil
	}
	txns := c.log.Txns
	shift := make([]int64, len(txns))
	if c.spec.Hint == ReversedTimes {
		last := int64(0)
		for i := range txns {
			last = max(last, txns[i].Start)
		}
		for i := range txns {
			shift[i] = last - 2*txns[i].Start
		}
		return shift
	}
	rng := rand.New(rand.NewPCG(c.spec.Seed, 0x4a7d))
	to := slices.Clone(order)
	rng.Shuffle(len(to), func(a, b int) { to[a], to[b] = to[b], to[a] })
	for i, t := range order {
		shift[t] = txns[to[i]].Start - txns[t].Start
	}
	return shift
}
