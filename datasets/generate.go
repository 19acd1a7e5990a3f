package datasets

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"isovet/datasets/store"
	"isovet/datasets/workload"
	"isovet/history"
)

// Times says which client times a generated history has.
type Times uint8

const (
	AllTimes Times = iota // transactions and operations
	TxnTimes              // transactions only
	// none; the transactions then stand session by session, since their order in the file would tell it
	NoTimes
)

// Hint says what is done to the client times in the end. All but TrueTimes are lies: the history may then satisfy no
// real-time level, but what holds without real time holds as before.
type Hint uint8

const (
	TrueTimes     Hint = iota
	ReversedTimes      // the last is first
	RandomTimes        // every transaction's interval is moved to where another one's was
)

// Spec says which history to generate. The zero value is BlindW-WR, 10,000 transactions of 24 sessions, serializable by
// two-phase locking, with client times, seed 0.
type Spec struct {
	Workload string  // "": blindw; workload.All lists them
	Variant  string  // "": the workload's first
	Txns     int     // committed transactions; 0: 10,000. The initial transaction is not counted
	Sessions int     // 0: 24
	Keys     int     // 0: the workload's default
	Ops      int     // operations a transaction; 0: the workload's default
	Zipf     float64 // exponent of the keys' distribution, where the workload has one; 0: the workload's default
	// values that the writes of a key are drawn from, in plain tables; 0: the variant's default, mostly a value of
	// its own for each write
	Values int
	// FenceEvery has each session issue a fence transaction after so many others (workload.Fenced); 0: never.
	FenceEvery int
	// Isolation is the store's concurrency control: "" or "serializable" (two-phase locking), "serializable-snapshot",
	// "snapshot-isolation", "repeatable-read" (no range locks), "read-committed", "read-uncommitted", or a short name.
	Isolation string
	Seed      uint64
	Fault     string // "": none; Faults lists them
	FaultAt   int    // plant it once so many transactions have committed; 0: in the middle

	// Break is a part of the store's concurrency control that fails once, after FaultAt commits: store.Breaks lists
	// them.
	Break string

	Times   Times
	Hint    Hint
	DBTimes bool // database timestamps too
	// Skew shifts each client's clock by its own offset from [-Skew, Skew] ns.
	Skew int64
	// AbortRate is the share of transactions rolled back by their clients, UnknownRate that of commits whose answer is
	// lost.
	AbortRate, UnknownRate float64
	// UnknownOld is the share of predicate writes whose clients do not learn which versions they replaced.
	UnknownOld float64
	// NoAborted leaves aborted transactions out.
	NoAborted bool
	// LongTxn leaves one transaction open through the whole run.
	LongTxn bool
}

// Result is a generated history and how it came about.
type Result struct {
	History *history.History
	Planted []int64 // ids of the transactions of the fault
	Stats   store.Stats
}

// Generate runs the workload on the in-memory store and returns what its clients saw. The same spec gives the same
// history, byte for byte. Errors: an unknown name (the choices are listed), a size that cannot be, ctx's end. Cost:
// about 3 µs a transaction of 8 operations, 60 bytes an operation at the peak.
func Generate(ctx context.Context, spec Spec) (*history.History, error) {
	r, err := Run(ctx, spec)
	if err != nil {
		return nil, err
	}
	return r.History, nil
}

// Breaks returns the names of what of the store's concurrency controls can be broken.
func Breaks() []string { return store.Breaks() }

// Isolations returns the names of the store's concurrency controls.
func Isolations() []string { return store.Isolations() }

// Run is Generate with more to tell.
func Run(ctx context.Context, spec Spec) (*Result, error) { return RunTold(ctx, spec, nil) }

// RunTold is Run that tells what is being done and how far it is, every few thousand events; tell may be nil.
func RunTold(ctx context.Context, spec Spec, tell func(stage string, done, total int)) (*Result, error) {
	spec.Workload = cmp.Or(spec.Workload, "blindw")
	spec.Txns = cmp.Or(spec.Txns, 10000)
	spec.Sessions = cmp.Or(spec.Sessions, 24)
	info, err := workload.Lookup(spec.Workload)
	if err != nil {
		return nil, err
	}
	iso, err := store.ParseIsolation(spec.Isolation)
	if err != nil {
		return nil, err
	}
	if spec.Skew < 0 {
		return nil, fmt.Errorf("clock skew %d; expected none or a positive number of nanoseconds", spec.Skew)
	}
	w, params, err := info.New(workload.Params{Variant: spec.Variant, Keys: spec.Keys, Ops: spec.Ops, Zipf: spec.Zipf,
		Sessions: spec.Sessions, Values: spec.Values})
	if err != nil {
		return nil, err
	}
	if params.Values > 0 && spec.Fault != "" {
		return nil, fmt.Errorf("a planted fault among values written more than once may have another explanation; " +
			"expected one of the two")
	}
	if spec.FenceEvery < 0 {
		return nil, fmt.Errorf("fences every %d transactions; expected none or a positive number", spec.FenceEvery)
	}
	if spec.FenceEvery > 0 {
		w = workload.Fenced(w, spec.FenceEvery)
	}
	if !(spec.UnknownOld >= 0 && spec.UnknownOld <= 1) {
		return nil, fmt.Errorf("share of unknown old versions %v; expected it from 0 to 1", spec.UnknownOld)
	}
	cfg := store.Config{
		Workload: w, Sessions: spec.Sessions, Txns: spec.Txns, Isolation: iso, Seed: spec.Seed,
		AbortRate: spec.AbortRate, UnknownRate: spec.UnknownRate, LongTxn: spec.LongTxn,
	}
	if tell != nil {
		cfg.Progress = func(committed int) { tell("running", committed, spec.Txns) }
	}
	if cfg.Break, err = store.ParseBreak(spec.Break); err != nil {
		return nil, err
	}
	cfg.BreakAt = cmp.Or(spec.FaultAt, spec.Txns/2)
	var fault *Anomaly
	if spec.Fault != "" {
		if fault, err = LookupFault(spec.Fault); err != nil {
			return nil, err
		}
		cfg.Script = fault.script()
		cfg.ScriptAt = cmp.Or(spec.FaultAt, spec.Txns/2)
	}
	log, err := store.Run(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if tell != nil {
		tell("telling what the clients saw", 0, 0)
	}
	b := history.NewBuilder()
	c := convert{spec: &spec, log: log, b: b, values: params.Values}
	planted := c.fill()
	b.Meta = history.Meta{
		Lists:     slices.ContainsFunc(log.Tables, func(t workload.Table) bool { return t.List }),
		Name:      fmt.Sprintf("%s-%s-%d", info.Name, params.Variant, spec.Seed),
		DB:        "in-memory store",
		Isolation: iso.String(),
		Workload:  info.Name + "/" + params.Variant,
		Note:      note(&spec, &params, fault, planted),
	}
	h, err := b.Build()
	if err != nil {
		return nil, fmt.Errorf("the generated history is refused: %w", err)
	}
	return &Result{History: h, Planted: planted, Stats: log.Stats}, nil
}

// note is the header's text: how the history was made, and where the fault is.
func note(spec *Spec, p *workload.Params, fault *Anomaly, planted []int64) string {
	var s strings.Builder
	fmt.Fprintf(&s, "seed %d, %d committed transactions, %d sessions, %d keys", spec.Seed, spec.Txns, spec.Sessions,
		p.Keys)
	for _, x := range []struct {
		on   bool
		text string
	}{
		{spec.FenceEvery > 0, fmt.Sprintf("fences every %d transactions of a session", spec.FenceEvery)},
		{spec.Zipf > 0, fmt.Sprintf("Zipf exponent %g", spec.Zipf)},
		{p.Values > 0, fmt.Sprintf("%d values a key", p.Values)},
		{spec.Skew > 0, fmt.Sprintf("clock skew %d ns", spec.Skew)},
		{spec.AbortRate > 0, fmt.Sprintf("rollbacks %g", spec.AbortRate)},
		{spec.UnknownRate > 0, fmt.Sprintf("unknown outcomes %g", spec.UnknownRate)},
		{spec.UnknownOld > 0, fmt.Sprintf("unknown old versions %g", spec.UnknownOld)},
		{spec.LongTxn, "one transaction open through the whole run"},
		{spec.Hint == ReversedTimes, "times reversed"},
		{spec.Hint == RandomTimes, "times shuffled"},
	} {
		if x.on {
			s.WriteString(", " + x.text)
		}
	}
	if spec.Break != "" {
		fmt.Fprintf(&s, "; broken once: %s, for transactions %v", spec.Break, planted)
	}
	if fault != nil {
		s.WriteString("; planted " + fault.Name + ": transactions")
		for i, id := range planted {
			if i > 0 {
				s.WriteByte(',')
			}
			s.WriteString(" " + strconv.FormatInt(id, 10))
		}
		s.WriteString("; violates")
		for i, l := range fault.Violates {
			if i > 0 {
				s.WriteByte(',')
			}
			s.WriteString(" " + l.String())
		}
	}
	return s.String()
}

// convert turns a log into a history.
type convert struct {
	spec *Spec
	log  *store.Log
	b    *history.Builder
	key  []uint32 // row → key of the history

	values int // as workload.Params.Values

	columns [][]column // table → its columns and "u", in the order of their names
	rng     *rand.Rand // of the old versions that clients do not learn
	text    []byte
	rows    []uint32 // half of a row's place in log.Cells, where it has two at least → 1 + its text
	matched []history.PredRow
	elems   []history.Value
}

// fill adds all transactions to the builder: the initial one first, with id 0, then the log's, with ids 1, 2, … It
// returns the ids of the planted ones.
func (c *convert) fill() []int64 {
	c.layout()
	c.init()
	names := make(map[string]uint32)
	spec := c.spec
	offset := make([]int64, spec.Sessions)
	if spec.Skew > 0 {
		rng := rand.New(rand.NewPCG(spec.Seed, 0x5e3))
		for i := range offset {
			offset[i] = rng.Int64N(2*spec.Skew+1) - spec.Skew
		}
	}
	order := c.order()
	shift := c.shifts(order)
	var planted []int64
	id := int64(0)
	for at, i := range order {
		if at == len(order)/16 && at > 100 {
			c.b.ReserveRows(15 * 33. / 32)
		}
		t := &c.log.Txns[i]
		id++
		move := offset[t.Session]
		if shift != nil {
			move += shift[i]
		}
		for _, op := range c.log.Ops[t.Off : t.Off+int(t.N)] {
			c.op(&op)
			if spec.Times == AllTimes {
				c.b.OpTimes(op.Start+move, op.End+move)
			}
		}
		head := history.NewTxnHead()
		head.ID, head.HasID = id, true
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
		n, ok := names[t.Name]
		if !ok {
			n = c.b.Text([]byte(t.Name))
			names[t.Name] = n
		}
		head.Name = n
		c.b.EndTxn(head)
		if t.Planted {
			planted = append(planted, id)
		}
	}
	return planted
}

func moved(t, by int64) int64 {
	if t == store.NoTime {
		return history.NoTime
	}
	return t + by
}

// init interns the touched keys, in order, and adds the transaction that loaded them.
func (c *convert) init() {
	tables := c.log.Tables
	rows := make([]uint32, 0, len(c.log.Rows))
	for r, touched := range c.log.Touched {
		if touched {
			rows = append(rows, uint32(r))
		}
	}
	slices.SortFunc(rows, func(a, b uint32) int { return cmp.Compare(c.log.Rows[a], c.log.Rows[b]) })
	c.key = make([]uint32, len(c.log.Rows))
	var text []byte
	loaded := false
	for _, r := range rows {
		k := c.log.Rows[r]
		v := history.IntValue(k.PK())
		if name := tables[k.Table()].Name; name != "" {
			text = append(append(text[:0], name...), '/')
			v = c.b.StringValue(strconv.AppendInt(text, k.PK(), 10))
		}
		c.key[r] = c.b.Key(v)
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

// shifts returns how far each transaction's times are moved, nil for true times.
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
