package datasets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/history"
	"isovet/level"
)

// Class is a class of anomalies in the taxonomy of Coo (arXiv:2206.14602): by the pairs of conflicting operations in
// the cycle.
type Class string

const (
	RAT Class = "RAT" // read anomaly type: a read of what has not been committed
	WAT Class = "WAT" // write anomaly type: none such, but an overwriting of what has not been committed
	IAT Class = "IAT" // intersection anomaly type: all others; every pair of them could arise under read committed
)

// Synthesized is an anomaly that violates serializability. It is a schedule that is executed without isolation: every
// read sees the last write of any transaction, and an abort restores the values from before. Vbox's Table 1 was made
// in this way (§5.1, in MySQL at read uncommitted). Transactions that only read, after all others have committed, show
// the last writes.
type Synthesized struct {
	Name  string
	Class Class
	About string
	// Init lists the keys that exist at first, such as "x=0 y=9". "" means that every key has value 0.
	Init string
	// Schedule is a sequence of operations:
	//
	// 	R1x     transaction 1 reads x
	// 	W1x     it writes x, with a new value of 10 or more; W1x=3 writes the value 3
	// 	D1x     it deletes x
	// 	P1<5    it reads the rows whose value is less than 5; P1>=0 those of 0 or more
	// 	U1<5    it writes a new value to each of these rows
	// 	C1 A1   it commits, it aborts
	Schedule string
	// Violates lists the serializable and snapshot levels that it violates. It satisfies the others.
	Violates []level.Level
}

// History executes the schedule. Each transaction has its own session; client times are the numbers of steps.
func (a *Synthesized) History() *history.History {
	h, _, err := a.run()
	if err != nil {
		panic("catalogue: " + a.Name + ": " + err.Error())
	}
	return h
}

// conflicts counts reads and writes of rows with an uncommitted write of another transaction.
type conflicts struct{ reads, writes int }

// scheduled is a step of a schedule.
type scheduled struct {
	kind   byte
	txn    int
	key    string
	value  int64  // W: what is written, -1: a value of its own
	bound  int64  // P, U
	op     string // P, U: "<" or ">="
	at     int64  // time
	rows   []scheduledRow
	result int64 // R: -1: absent
}

type scheduledRow struct {
	key           string
	before, after int64
}

const absent = -1 // for a value; others are not negative

// run executes the schedule and makes a history of it.
func (a *Synthesized) run() (*history.History, conflicts, error) {
	var c conflicts
	steps, err := a.parse()
	if err != nil {
		return nil, c, err
	}
	x := execution{first: absent, state: map[string]*cell{}, before: map[int][]image{}, next: 10}
	if a.Init == "" {
		x.first = 0
	}
	for _, f := range strings.Fields(a.Init) {
		key, v, _ := strings.Cut(f, "=")
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, c, err
		}
		x.at(key).value = n
	}
	inits := slices.Clone(x.keys)
	initial := map[string]int64{}
	for _, k := range inits {
		initial[k] = x.state[k].value
	}
	for i := range steps {
		x.do(&steps[i])
	}
	h, err := a.build(steps, inits, initial)
	return h, x.conflicts, err
}

// cell is a row while a schedule is executed.
type cell struct {
	value int64
	owner int // the active transaction that wrote it; 0: none
	was   int64
}

// image is the value of a row before a write.
type image struct {
	key   string
	value int64
}

// execution is the state between the steps of a schedule.
type execution struct {
	conflicts
	state  map[string]*cell
	keys   []string
	first  int64           // what a row holds at first
	before map[int][]image // what a transaction's abort puts back
	next   int64           // the next value of its own
}

func (x *execution) at(key string) *cell {
	if x.state[key] == nil {
		x.state[key] = &cell{value: x.first}
		x.keys = append(x.keys, key)
	}
	return x.state[key]
}

func (x *execution) write(t int, key string, v int64) {
	c := x.at(key)
	if c.owner != 0 && c.owner != t {
		x.writes++
	}
	x.before[t] = append(x.before[t], image{key, c.value})
	c.value, c.owner, c.was = v, t, c.value
}

// do executes a step, and stores its result in it.
func (x *execution) do(s *scheduled) {
	switch s.kind {
	case 'R':
		c := x.at(s.key)
		s.result = c.value
		if c.owner != 0 && c.owner != s.txn {
			x.reads++
		}
	case 'W', 'D':
		if s.kind == 'W' && s.value == absent {
			s.value = x.next
			x.next++
		}
		x.write(s.txn, s.key, s.value)
	case 'P', 'U':
		x.search(s)
	default:
		if s.kind == 'A' {
			for _, b := range slices.Backward(x.before[s.txn]) {
				x.state[b.key].value = b.value
			}
		}
		for _, c := range x.state {
			if c.owner == s.txn {
				c.owner = 0
			}
		}
	}
}

// search executes a step with a predicate.
func (x *execution) search(s *scheduled) {
	holds := func(v int64) bool {
		return v != absent && (s.op == "<" && v < s.bound || s.op == ">=" && v >= s.bound)
	}
	slices.Sort(x.keys)
	for _, k := range x.keys {
		c := x.state[k]
		if c.owner != 0 && c.owner != s.txn && (holds(c.value) || holds(c.was)) {
			x.reads++
		}
		if !holds(c.value) {
			continue
		}
		r := scheduledRow{key: k, before: c.value}
		if s.kind == 'U' {
			r.after = x.next
			x.next++
			x.write(s.txn, k, r.after)
		}
		s.rows = append(s.rows, r)
	}
}

func (a *Synthesized) parse() ([]scheduled, error) {
	var steps []scheduled
	for i, f := range strings.Fields(a.Schedule) {
		if len(f) < 2 || f[1] < '1' || f[1] > '9' {
			return nil, fmt.Errorf("%q: expected an operation and a transaction of one digit", f)
		}
		s := scheduled{kind: f[0], txn: int(f[1] - '0'), value: absent, at: int64(10 * (i + 1))}
		var err error
		switch rest := f[2:]; s.kind {
		case 'C', 'A':
			if rest != "" {
				err = fmt.Errorf("%q: expected nothing behind %q", f, f[:2])
			}
		case 'P', 'U':
			s.op = strings.TrimRight(rest, "0123456789")
			if s.op != "<" && s.op != ">=" {
				err = fmt.Errorf("%q: expected < or >=", f)
			} else {
				s.bound, err = strconv.ParseInt(rest[len(s.op):], 10, 64)
			}
		case 'R', 'W', 'D':
			var v string
			var given bool
			if s.key, v, given = strings.Cut(rest, "="); given {
				s.value, err = strconv.ParseInt(v, 10, 64)
			}
		default:
			err = fmt.Errorf("%q: expected one of R W D P U C A", f)
		}
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// build makes a history of an executed schedule.
func (a *Synthesized) build(steps []scheduled, inits []string, initial map[string]int64) (*history.History, error) {
	b := history.NewBuilder()
	b.Meta.Name, b.Meta.Note = a.Name, a.About
	key := func(k string) uint32 { return b.Key(b.StringValue([]byte(k))) }
	if a.Init == "" {
		b.Initial = history.IntValue(0)
	} else {
		for _, k := range inits {
			b.Write(key(k), scheduledValue(initial[k]))
		}
		head := history.NewTxnHead()
		head.HasID, head.Init = true, true
		b.EndTxn(head)
	}
	var txns []int
	for _, s := range steps {
		if !slices.Contains(txns, s.txn) {
			txns = append(txns, s.txn)
		}
	}
	slices.Sort(txns)
	for _, t := range txns {
		head := history.NewTxnHead()
		head.ID, head.HasID = int64(t), true
		head.Session, head.HasSess = int64(t), true
		for _, s := range steps {
			if s.txn != t {
				continue
			}
			if head.Start == history.NoTime {
				head.Start = s.at
			}
			if head.End != history.NoTime {
				return nil, fmt.Errorf("transaction %d has an operation after its end", t)
			}
			if s.kind != 'C' && s.kind != 'A' {
				s.write(b, key)
				continue
			}
			head.Commit, head.End = s.at, s.at+5
			if s.kind == 'A' {
				head.Status = history.Aborted
			}
		}
		if head.End == history.NoTime {
			return nil, fmt.Errorf("transaction %d has no end", t)
		}
		b.EndTxn(head)
	}
	return b.Build()
}

// write adds a step that reads or writes to the builder.
func (s *scheduled) write(b *history.Builder, key func(string) uint32) {
	switch s.kind {
	case 'R':
		b.Read(key(s.key), scheduledValue(s.result))
	case 'W', 'D':
		b.Write(key(s.key), scheduledValue(s.value))
	default:
		kind := history.PredRead
		if s.kind == 'U' {
			kind = history.PredWrite
		}
		var rows []history.PredRow
		for _, r := range s.rows {
			rows = append(rows, history.PredRow{Key: key(r.key), Old: scheduledValue(r.before),
				New: scheduledValue(r.after)})
		}
		b.Predicate(kind, fmt.Appendf(nil, `{"":{"%s":%d}}`, s.op, s.bound), rows)
	}
	b.OpTimes(s.at+1, s.at+5)
}

// scheduledValue converts a value to one of the history.
func scheduledValue(v int64) history.Value {
	if v == absent {
		return history.Value{}
	}
	return history.IntValue(v)
}
