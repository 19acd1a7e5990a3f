package workload

import "math/rand/v2"

// OpKind is what an operation does.
type OpKind uint8

const (
	Read   OpKind = iota
	Write         // insert, update or upsert of Payload
	Delete        // leaves the key absent
)

// Key names a row: a table of the workload and a primary key.
type Key int64

const tableShift = 40

// MakeKey returns the key of a row. pk must be in [0, 2^40).
func MakeKey(table int, pk int64) Key { return Key(int64(table)<<tableShift | pk) }

// Table returns the index of the key's table among Workload.Tables.
func (k Key) Table() int { return int(k >> tableShift) }

// PK returns the primary key.
func (k Key) PK() int64 { return int64(k) & (1<<tableShift - 1) }

// Op is one operation. Payload is what a write stores or, once the driver has run it, what a read found; Absent says that a
// read found no row (Payload is then 0).
type Op struct {
	Key     Key
	Payload int64
	Kind    OpKind
	Absent  bool
	// ForUpdate asks for the row's write lock at the read (SELECT … FOR UPDATE).
	ForUpdate bool
}

// Txn is one transaction of a client, reused for the next.
type Txn struct {
	Name string  // template
	Args []int64 // parameters, drawn by Next and kept over retries

	Stage    int  // how often Step was called in this attempt, this call not counted
	Ops      []Op // the program so far; when Step is called, all of them have run
	Rollback bool // set by Step: the transaction ends by rolling back
}

// Reset begins an attempt.
func (t *Txn) Reset() {
	t.Stage = 0
	t.Ops = t.Ops[:0]
	t.Rollback = false
}

// Read appends a read.
func (t *Txn) Read(k Key) { t.Ops = append(t.Ops, Op{Key: k}) }

// Write appends a write.
func (t *Txn) Write(k Key, payload int64) {
	t.Ops = append(t.Ops, Op{Key: k, Kind: Write, Payload: payload})
}

// Table is a set of rows. Rows with primary keys 0..Rows-1 are loaded before the run, holding Payload; others may be inserted.
type Table struct {
	Name    string // keys in the history are Name/pk; of an unnamed table they are the integers pk
	Rows    int
	Payload int64
}

// Workload is what all clients of a run share. It is immutable; its clients are not safe for concurrent use.
type Workload interface {
	Tables() []Table
	// Client returns the client of one session; rng is its own.
	Client(session int, rng *rand.Rand) Client
}

// Client makes one session's transactions; the package comment says how it is driven.
type Client interface {
	Next(t *Txn)
	Step(t *Txn)
}
