package workload

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// OpKind is what an operation does.
type OpKind uint8

const (
	Read        OpKind = iota
	Write              // insert, update or upsert of Payload, or of Row where the table has columns
	Delete             // leaves the key absent
	Append             // adds one element to a list
	ReadWhere          // SELECT … WHERE: a predicate read
	UpdateWhere        // UPDATE … SET … WHERE: a predicate write
	DeleteWhere        // DELETE … WHERE
	Savepoint          // a place to go back to; it takes that of the one before
	RollbackTo         // goes back there: what was done since is undone, and no part of the history
)

// Conditional reports whether an operation has a condition.
func (k OpKind) Conditional() bool { return k >= ReadWhere && k <= DeleteWhere }

// Key names a row: a table of the workload and a primary key.
type Key int64

const tableShift = 40

// MakeKey returns the key of a row. pk must be in [0, 2^40).
func MakeKey(table int, pk int64) Key { return Key(int64(table)<<tableShift | pk) }

// Table returns the index of the key's table among Workload.Tables.
func (k Key) Table() int { return int(k >> tableShift) }

// PK returns the primary key.
func (k Key) PK() int64 { return int64(k) & (1<<tableShift - 1) }

// Range is a condition on a column: Min ≤ value < Max. math.MinInt64 and math.MaxInt64 leave a side open.
type Range struct {
	Column   int
	Min, Max int64
}

// Equal is the range of one value.
func Equal(column int, v int64) Range { return Range{column, v, v + 1} }

// Holds reports whether the condition is true of a row.
func (r Range) Holds(row []int64) bool { return r.Min <= row[r.Column] && row[r.Column] < r.Max }

// Matches reports whether all conditions are true of a row.
func Matches(where []Range, row []int64) bool {
	for _, r := range where {
		if !r.Holds(row) {
			return false
		}
	}
	return true
}

// Set gives a column of the rows of an UpdateWhere its new value: (old + Add + Mul·pk) mod Mod, pk being the row's
// primary key. Without Keep the old value does not count; with Mod 0 nothing is taken off. None of them is negative
// where Mod is not 0.
type Set struct {
	Column        int
	Keep          bool
	Add, Mul, Mod int64
}

// Value computes it.
func (s Set) Value(old, pk int64) int64 {
	v := s.Add + s.Mul*pk
	if s.Keep {
		v += old
	}
	if s.Mod != 0 {
		v %= s.Mod
	}
	return v
}

// Found is a row that an operation with a condition found: as it was before the operation.
type Found struct {
	Key Key
	Row []int64
}

// Op is one operation. Payload and Row are what a write stores or, once the driver has run it, what a read found;
// Absent says that a read found no row (Payload is then 0, Row nil).
type Op struct {
	Key     Key // of an operation with a condition: any key of the table
	Payload int64
	Kind    OpKind
	Absent  bool
	// ForUpdate asks for the write locks of what is read (SELECT … FOR UPDATE), ForShare for its read locks, of a
	// ReadWhere only. The store in memory and key-value stores have no such locks for a ReadWhere, and only read.
	ForUpdate, ForShare bool
	// IfAbsent is for a Write to a table with columns: a row that is in the way, by a unique index, stays as it is, and
	// Absent then says that none was inserted. Nobody else may write to the Key, and the client only once. The store in
	// memory and key-value stores have no unique indexes: nothing is in the way.
	IfAbsent bool
	// Row has the columns of a table that has columns, or the numbers of a wide payload.
	Row []int64
	// Where is the condition of a ReadWhere, an UpdateWhere, a DeleteWhere: all ranges hold. The first one is best on
	// an indexed column.
	Where []Range
	Set   []Set   // of an UpdateWhere
	Found []Found // filled in by the driver; good until the attempt is over
}

// Access is how a transaction is begun, where the database has such a thing; the store in memory has not.
type Access uint8

const (
	ReadWrite  Access = iota
	ReadOnly          // BEGIN READ ONLY
	Deferrable        // READ ONLY DEFERRABLE: it waits for a snapshot of which no harm can come
	Alone             // not begun: its one operation, a Read, a ReadWhere, a Write or an Append, commits by itself
)

// Txn is one transaction of a client, reused for the next.
type Txn struct {
	Name string  // template
	Args []int64 // parameters, drawn by Next and kept over retries
	// Access is drawn by Next, in every transaction or in none.
	Access Access

	Stage    int  // how often Step was called in this attempt, this call not counted
	Ops      []Op // the program so far; when Step is called, all of them have run
	Rollback bool // set by Step: the transaction ends by rolling back

	cells  []int64 // what Row, Where and Set of the attempt's operations stand in
	ranges []Range
	sets   []Set
}

// Reset begins an attempt.
func (t *Txn) Reset() {
	t.Stage = 0
	t.Ops = t.Ops[:0]
	t.Rollback = false
	t.cells, t.ranges, t.sets = t.cells[:0], t.ranges[:0], t.sets[:0]
}

// Read appends a read.
func (t *Txn) Read(k Key) { t.Ops = append(t.Ops, Op{Key: k}) }

// Write appends a write.
func (t *Txn) Write(k Key, payload int64) {
	t.Ops = append(t.Ops, Op{Key: k, Kind: Write, Payload: payload})
}

// Delete appends a deletion.
func (t *Txn) Delete(k Key) { t.Ops = append(t.Ops, Op{Key: k, Kind: Delete}) }

// Append appends an append to a list.
func (t *Txn) Append(k Key) { t.Ops = append(t.Ops, Op{Key: k, Kind: Append}) }

// ReadForUpdate appends a read that takes the row's write lock.
func (t *Txn) ReadForUpdate(k Key) { t.Ops = append(t.Ops, Op{Key: k, ForUpdate: true}) }

// Last returns the operation before the present step: what it found is there.
func (t *Txn) Last() *Op { return &t.Ops[len(t.Ops)-1] }

// WriteRow appends a write of a row of a table with columns, or of a wide payload.
func (t *Txn) WriteRow(k Key, columns ...int64) {
	n := len(t.cells)
	t.cells = append(t.cells, columns...)
	t.Ops = append(t.Ops, Op{Key: k, Kind: Write, Row: t.cells[n:len(t.cells):len(t.cells)]})
}

// InsertRow appends a write of a row that is not to overwrite another one: Op.IfAbsent.
func (t *Txn) InsertRow(k Key, columns ...int64) {
	t.WriteRow(k, columns...)
	t.Last().IfAbsent = true
}

// Savepoint and RollbackTo append these; SQL databases alone have them (Variant.SQL).
func (t *Txn) Savepoint()  { t.Ops = append(t.Ops, Op{Kind: Savepoint}) }
func (t *Txn) RollbackTo() { t.Ops = append(t.Ops, Op{Kind: RollbackTo}) }

// ReadWhere appends a predicate read.
func (t *Txn) ReadWhere(table int, where ...Range) { t.where(ReadWhere, table, where) }

// LockWhere appends a predicate read that takes the write locks of what it finds, or the read locks.
func (t *Txn) LockWhere(table int, share bool, where ...Range) {
	t.where(ReadWhere, table, where)
	t.Last().ForUpdate, t.Last().ForShare = !share, share
}

// DeleteWhere appends a deletion of all rows of which the condition is true.
func (t *Txn) DeleteWhere(table int, where ...Range) { t.where(DeleteWhere, table, where) }

// UpdateWhere appends an update of all rows of which the condition is true.
func (t *Txn) UpdateWhere(table int, set []Set, where ...Range) {
	t.where(UpdateWhere, table, where)
	n := len(t.sets)
	t.sets = append(t.sets, set...)
	t.Ops[len(t.Ops)-1].Set = t.sets[n:len(t.sets):len(t.sets)]
}

func (t *Txn) where(kind OpKind, table int, where []Range) {
	n := len(t.ranges)
	t.ranges = append(t.ranges, where...)
	t.Ops = append(t.Ops, Op{Key: MakeKey(table, 0), Kind: kind, Where: t.ranges[n:len(t.ranges):len(t.ranges)]})
}

// Plan is how a database is to look for the rows of a condition. Where several of a workload's tables have one, the
// first counts: some databases can only be told for a whole session. A database that has no such plan, or cannot be
// told, takes the one that it likes.
type Plan uint8

const (
	AnyPlan    Plan = iota
	Sequential      // the whole table is read
	ByIndex         // by the index of the first range's column
	IndexOnly       // the same, of an index that has all columns, without a look at the table
	Bitmap          // the rows' places are gathered from the index first
)

var plans = [...]string{"any", "sequential", "index", "index-only", "bitmap"}

func (p Plan) String() string { return plans[p] }

// ParsePlan reads a plan's name; "" is AnyPlan.
func ParsePlan(s string) (Plan, error) {
	for p, name := range plans {
		if s == name {
			return Plan(p), nil
		}
	}
	if s == "" {
		return AnyPlan, nil
	}
	return 0, fmt.Errorf("no plan %q; expected one of %s", s, strings.Join(plans[:], ", "))
}

// Column is a column of a table.
type Column struct {
	Name  string // none is named "u": that is the column in which the driver keeps the unique id of the write
	Index bool   // there are conditions on it
}

// ForeignKey says that a column holds primary keys of a table, by its index among the workload's, before this one.
type ForeignKey struct{ Column, Table int }

// Table is a set of rows. Rows with primary keys 0..Rows-1 are loaded before the run; others may be inserted.
type Table struct {
	Name    string // keys in the history are Name/pk; of an unnamed table they are the integers pk
	Rows    int
	Payload int64 // what loaded rows hold, unless PayloadOf says so row by row
	// Sparse says that most loaded rows will never be touched.
	Sparse    bool
	PayloadOf func(pk int64) int64
	// WideOf makes its payloads lists of numbers, in Op.Row's place; it says what loaded rows hold.
	WideOf func(pk int64) []int64
	// Columns makes its values rows: operations have Row in Payload's place, and may have conditions. Load fills in
	// what a loaded row holds.
	Columns []Column
	Load    func(pk int64, row []int64)
	// Unique are those of the Columns with an index whose index is unique. The store in memory and key-value stores
	// have no such thing: a workload must keep its own values apart, or take what it gets.
	Unique []int
	// Foreign are its foreign keys: the database refuses a row without its parent, and the deletion of a parent that
	// has rows. An attempt that is refused for it is tried again: a workload must not ask for what can never be. The
	// store in memory and key-value stores have no foreign keys.
	Foreign []ForeignKey
	Plan    Plan
	// Roomy says that indexes are to be built with room for more, where a database can be told so: PostgreSQL's
	// serializable transactions fail each other by the page of an index, not by the row.
	Roomy bool
	// Direct says that an update or a delete with a condition is to find its rows by itself, in one statement, where a
	// database can tell afterwards which they were; else a locking read finds them, and the change uses their keys.
	// The store in memory knows one kind only.
	Direct bool
	// Counter says that its rows have no unique id of their write: the history has payloads in the place of versions.
	// Loaded rows must hold 0, and a client must not write a payload that somebody else may write to the row, but by
	// mistake of the database.
	Counter bool
	// List makes its values lists, which Append makes longer. Nothing is loaded.
	List bool
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
