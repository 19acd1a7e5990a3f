package datasets

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"isovet/history"
	"isovet/level"
)

// Class is a class of anomalies in the taxonomy of Coo (arXiv:2206.14602), by the pairs of conflicting operations in
// the cycle.
type Class string

const (
	RAT Class = "RAT" // read anomaly type: a read of what has not been committed
	WAT Class = "WAT" // write anomaly type: none such, but an overwriting of what has not been committed
	IAT Class = "IAT" // intersection anomaly type: all others; every pair of them could arise under read committed
)

// Synthesized is an anomaly that violates serializability, as a schedule that is executed without isolation: every read
// sees what was written last, by whomever, and an abort puts back what was there before. So Vbox's Table 1 was made
// (§5.1, in MySQL at read uncommitted). Transactions that only read, after all others have committed, make what was
// written last known.
type Synthesized struct {
	Name  string
	Class Class
	About string
	// Init are the keys that exist at first, as in "x=0 y=9"; "" says that every key holds 0.
	Init string
	// Schedule has one operation after the other:
	//
	//	R1x     transaction 1 reads x
	//	W1x     it writes x, a value of its own, 10 or more; W1x=3 the value 3
	//	D1x     it deletes x
	//	P1<5    it reads the rows whose value is less than 5; P1>=0 those of 0 or more
	//	U1<5    it writes a value of its own to each of these rows
	//	C1 A1   it commits, it aborts
	Schedule string
	// Violates lists the violated ones of the serializable and the snapshot levels; it satisfies the others.
	Violates []level.Level
}

// sixLevels are the serializable and the snapshot levels.
var sixLevels = everything[:6]

// SynthesizedAnomalies returns 29 anomalies: 13 RAT, 9 WAT, 7 IAT, as many as Vbox's Table 1 has (errata V29: the
// numbers are the table's, the text's are in another order). The paper does not list them; these are Coo's, with
// predicates among them as there. Verdicts are those of brute force (TestSynthesizedByBruteForce).
func SynthesizedAnomalies() []Synthesized {
	return slices.Concat(readAnomalies(), writeAnomalies(), intersectionAnomalies())
}

func readAnomalies() []Synthesized {
	return []Synthesized{
		{Name: "rat-dirty-read", Class: RAT, Violates: sixLevels,
			About:    "a read of what is rolled back afterwards",
			Schedule: "W1x R2x A1 C2"},
		{Name: "rat-non-repeatable-read", Class: RAT, Violates: sixLevels,
			About:    "the second of two reads sees what another transaction has just written",
			Schedule: "R1x W2x R1x C2 C1"},
		{Name: "rat-intermediate-read", Class: RAT, Violates: sixLevels,
			About:    "a read of what its writer overwrites afterwards",
			Schedule: "W1x R2x W1x C1 C2"},
		{Name: "rat-intermediate-read-committed", Class: RAT, Violates: sixLevels,
			About:    "the same, and the reader commits before the writer overwrites",
			Schedule: "W1x R2x C2 W1x C1"},
		{Name: "rat-lost-self-update", Class: RAT, Violates: sixLevels,
			About:    "instead of its own write a transaction reads that of another, which overwrote it",
			Schedule: "W1x W2x R1x C2 C1"},
		{Name: "rat-write-read-skew", Class: RAT, Violates: sixLevels,
			About:    "two transactions read each other's writes",
			Schedule: "W1x R2x W2y R1y C1 C2"},
		{Name: "rat-double-write-skew-1", Class: RAT, Violates: sixLevels,
			About:    "a transaction overwrites what was written by one that has read from it",
			Schedule: "W1x R2x W2y W2z W1y C1 C2 R3y R3z C3"},
		{Name: "rat-double-write-skew-2", Class: RAT, Violates: sixLevels,
			About:    "a transaction reads from one that has overwritten its write",
			Schedule: "W1x W1z W2x W2y R1y C1 C2 R3x R3z C3"},
		{Name: "rat-read-skew", Class: RAT, Violates: sixLevels,
			About:    "of a transaction's two writes the first is not seen and then the second is",
			Schedule: "R1x W2x W2y R1y C2 C1"},
		{Name: "rat-read-skew-2", Class: RAT, Violates: sixLevels,
			About:    "of a transaction's two writes the first is seen before there is the second",
			Schedule: "W1x R2x R2y W1y C1 C2"},
		{Name: "rat-read-skew-insert", Class: RAT, Init: "y=9", Violates: sixLevels,
			About: "a phantom: a row is not there yet when its range is read, but what its inserter wrote " +
				"elsewhere is seen",
			Schedule: "P1<5 W2p=1 W2y R1y C2 C1"},
		{Name: "rat-read-skew-delete", Class: RAT, Init: "x=0 y=9", Violates: sixLevels,
			About: "a phantom: a row is gone when its range is read, but what its deleter overwrites elsewhere " +
				"is not",
			Schedule: "D2x P1<5 R1y W2y C2 C1"},
		{Name: "rat-step", Class: RAT, Violates: sixLevels,
			About:    "three transactions, each reads what the one before it wrote",
			Schedule: "W1x R2x W2y R3y W3z R1z C1 C2 C3"},
	}
}

func writeAnomalies() []Synthesized {
	return []Synthesized{
		{Name: "wat-dirty-write", Class: WAT, Violates: sixLevels,
			About:    "an abort takes back what another transaction wrote over the aborted one's write",
			Schedule: "W1x W2x W2z A1 C2 R3x R3z C3"},
		{Name: "wat-full-write", Class: WAT, Violates: sixLevels,
			About:    "between a transaction's two writes of a key falls another one's, which must come after both",
			Schedule: "R1y W1x W2x W2y W1x C1 C2 R3x R3y C3"},
		{Name: "wat-full-write-committed", Class: WAT, Violates: sixLevels,
			About:    "the same, and the other one commits before the second write",
			Schedule: "R1y W1x W2x W2y C2 W1x C1 R3x R3y C3"},
		{Name: "wat-lost-update", Class: WAT, Violates: sixLevels,
			About:    "a transaction overwrites a version that is later than the one that it has read",
			Schedule: "R1x W2x W2z W1x C2 C1 R3x R3z C3"},
		{Name: "wat-lost-self-update-committed", Class: WAT, Violates: sixLevels,
			About:    "instead of its own write a transaction reads that of another, which has committed",
			Schedule: "W1x W2x C2 R1x C1"},
		{Name: "wat-lost-update-predicate", Class: WAT, Init: "x=0 z=0", Violates: sixLevels,
			About: "a transaction overwrites one of the rows that a predicate write changed after it had read " +
				"them all",
			Schedule: "P1>=0 U2>=0 W1x C2 C1 P3>=0 C3"},
		{Name: "wat-full-write-skew", Class: WAT, Violates: sixLevels,
			About:    "two transactions write two keys, each overwrites the other once",
			Schedule: "W1x W2x W2y W1y C1 C2 R3x R3y C3"},
		{Name: "wat-full-write-skew-committed", Class: WAT, Violates: sixLevels,
			About:    "the same, and one commits before the other's last write",
			Schedule: "W1x W2x W2y C2 W1y C1 R3x R3y C3"},
		{Name: "wat-step", Class: WAT, Violates: sixLevels,
			About:    "three transactions, each overwrites what the one before it wrote",
			Schedule: "W1x W2x W2y W3y W3z W1z C1 C2 C3 R4x R4y R4z C4"},
	}
}

func intersectionAnomalies() []Synthesized {
	return []Synthesized{
		{Name: "iat-non-repeatable-read-committed", Class: IAT, Violates: sixLevels,
			About:    "the second of two reads sees what has been committed since the first",
			Schedule: "R1x W2x C2 R1x C1"},
		{Name: "iat-lost-update-committed", Class: IAT, Violates: sixLevels,
			About:    "two transactions read one version, and the later overwrites the earlier's committed write",
			Schedule: "R1x R2x W2x C2 W1x C1"},
		{Name: "iat-read-skew-committed", Class: IAT, Violates: sixLevels,
			About:    "of a committed transaction's two writes the first is not seen and then the second is",
			Schedule: "R1x W2x W2y C2 R1y C1"},
		{Name: "iat-write-skew", Class: IAT, Violates: serOnly,
			About:    "two transactions read both keys, each writes another one",
			Schedule: "R1x R1y R2x R2y W1x W2y C1 C2"},
		{Name: "iat-write-skew-insert", Class: IAT, Init: "x=9", Violates: serOnly,
			About:    "phantoms: two transactions find a range empty, each inserts a row",
			Schedule: "P1<5 P2<5 W1p=1 W2q=2 C1 C2"},
		{Name: "iat-step", Class: IAT, Violates: serOnly,
			About:    "three transactions, each overwrites what the one before it has read",
			Schedule: "R1x R2y R3z W1y W2z W3x C1 C2 C3"},
		{Name: "iat-step-delete", Class: IAT, Init: "x=0 y=9 z=9", Violates: serOnly,
			About:    "a phantom: the same, and one of them has read a range, from which another deletes a row",
			Schedule: "P1<5 R2y R3z W1y W2z D3x C1 C2 C3"},
	}
}

// History executes the schedule. Sessions are the transactions' own; client times are those of the schedule's steps.
func (a *Synthesized) History() *history.History {
	h, _, err := a.run()
	if err != nil {
		panic("catalogue: " + a.Name + ": " + err.Error())
	}
	return h
}

// conflicts counts what a schedule does to what has not been committed.
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

// image is what a row held before a write.
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

// do executes a step, and notes in it what it sees.
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

// parse reads the schedule.
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
				return nil, fmt.Errorf("transaction %d goes on after its end", t)
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

// write enters a step that reads or writes.
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

// scheduledValue is a value of the history.
func scheduledValue(v int64) history.Value {
	if v == absent {
		return history.Value{}
	}
	return history.IntValue(v)
}
