package workload

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// OpKind is the kind of an operation.
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

// Key identifies a row: a table of the workload and a primary key.
type Key int64

const tableShift = 40

// MakeKey returns the key of a row. pk must be in [0, 2^40).
func MakeKey(table int, pk int64) Key { return Key(int64(table)<<tableShift | pk) }

// Table returns the index of the key's table among Workload.Tables.
func (k Key) Table() int { return int(k >> tableShift) }

// PK returns the primary key.
func (k Key) PK() int64 { return int64(k) & (1<<tableShift - 1) }

// Range is a condition on a column: Min ≤ value < Max. math.MinInt64 and math.MaxInt64 mean no bound.
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
	return !slices.ContainsFunc(where, func(r Range) bool { return !r.Holds(row) })
}

// Set gives a column of the rows of an UpdateWhere a new value: (old + Add + Mul·pk) mod Mod, where pk is the row's
// primary key. Without Keep, old counts as 0. Mod 0 means no remainder. If Mod is not 0, none of these may be negative.
type Set struct {
	Column        int
	Keep          bool
	Add, Mul, Mod int64
}

// Value returns the new value.
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

// Found is a row that an operation with a condition found, as it was before the operation.
type Found struct {
	Key Key
	Row []int64
}

// End is which of its rows a ReadWhere looks for.
type End uint8

const (
	Whole End = iota // all
	First            // one with the smallest value of the first range's column: ORDER BY … LIMIT 1
	Last             // one with the largest value
	Min              // none, only the smallest value: SELECT min(…)
	Max
)

// Ends are the names of ends.
var Ends = [...]string{"", "first", "last", "min", "max"}

func (e End) String() string { return Ends[e] }

// Low says that it is the end with the smallest value.
func (e End) Low() bool { return e == First || e == Min }

// Op is one operation. Payload and Row are what a write stores or, after the driver has run it, what a read found.
// Absent says that a read found no row; Payload is then 0 and Row nil.
type Op struct {
	Key     Key // of an operation with a condition: any key of the table
	Payload int64
	Kind    OpKind
	Absent  bool
	// ForUpdate takes the write locks of the rows that it reads (SELECT … FOR UPDATE). ForShare takes their read
	// locks; only a ReadWhere can have it. For a ReadWhere, the store in memory and key-value stores have no such
	// locks, and only read.
	ForUpdate, ForShare bool
	// IfAbsent is for a Write to a table with columns: if another row conflicts with it by a unique index, that row
	// stays, and Absent then says that none was inserted. Only this client may write to the Key, and only once. The
	// store in memory and key-value stores have no unique indexes, so that no row conflicts.
	IfAbsent bool
	// Row has the columns in a table with columns, or the numbers of a wide payload.
	Row []int64
	// Where is the condition of a ReadWhere, an UpdateWhere or a DeleteWhere: all ranges must hold. The first one
	// should be on an indexed column.
	Where []Range
	Set   []Set   // of an UpdateWhere
	Found []Found // filled in by the driver; good until the attempt is over
	// End is for a ReadWhere without locks. For Min and Max, Found is a row without a key that has only this value.
	// The store in memory and key-value stores find the whole.
	End End
}

// Access is how a transaction begins, if the database has such variants. The store in memory has none.
type Access uint8

const (
	ReadWrite  Access = iota
	ReadOnly          // BEGIN READ ONLY
	Deferrable        // READ ONLY DEFERRABLE: it waits for a snapshot of which no harm can come
	Alone             // not begun: its one operation, a Read, a ReadWhere, a Write or an Append, commits by itself
)

// AtEnd returns the value at a ReadWhere's end, and false if no row was found.
func (o *Op) AtEnd() (v int64, found bool) {
	for _, f := range o.Found {
		if x := f.Row[o.Where[0].Column]; !found || (x < v) == o.End.Low() {
			v, found = x, true
		}
	}
	return v, found
}

// Txn is one transaction of a client. It is reused for the next one.
type Txn struct {
	Name string  // template
	Args []int64 // parameters, drawn by Next and kept over retries
	// Access is set by Next, in every transaction or in none.
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

// Last returns the operation before the current step, with its result.
func (t *Txn) Last() *Op { return &t.Ops[len(t.Ops)-1] }

// WriteRow appends a write of a row of a table with columns, or of a wide payload.
func (t *Txn) WriteRow(k Key, columns ...int64) {
	n := len(t.cells)
	t.cells = append(t.cells, columns...)
	t.Ops = append(t.Ops, Op{Key: k, Kind: Write, Row: t.cells[n:len(t.cells):len(t.cells)]})
}

// InsertRow appends a write of a row that must not overwrite another one (Op.IfAbsent).
func (t *Txn) InsertRow(k Key, columns ...int64) {
	t.WriteRow(k, columns...)
	t.Last().IfAbsent = true
}

// Savepoint and RollbackTo append these operations. Only SQL databases have them (Variant.SQL).
func (t *Txn) Savepoint()  { t.Ops = append(t.Ops, Op{Kind: Savepoint}) }
func (t *Txn) RollbackTo() { t.Ops = append(t.Ops, Op{Kind: RollbackTo}) }

// ReadWhere appends a predicate read.
func (t *Txn) ReadWhere(table int, where ...Range) { t.where(ReadWhere, table, where) }

// LockWhere appends a predicate read that takes the write locks of the rows it finds or, with share, the read locks.
func (t *Txn) LockWhere(table int, share bool, where ...Range) {
	t.where(ReadWhere, table, where)
	t.Last().ForUpdate, t.Last().ForShare = !share, share
}

// DeleteWhere appends a deletion of all rows for which the condition is true.
func (t *Txn) DeleteWhere(table int, where ...Range) { t.where(DeleteWhere, table, where) }

// UpdateWhere appends an update of all rows for which the condition is true.
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

// Plan is how a database should find the rows of a condition. If several tables of a workload have a plan, the first
// counts, since some databases have one setting for a whole session. A database that lacks the plan, or cannot be
// told, chooses its own.
type Plan uint8

const (
	AnyPlan    Plan = iota
	Sequential      // the whole table is read
	ByIndex         // by the index of the first range's column
	IndexOnly       // the same, of an index that has all columns, without a look at the table
	Bitmap          // the rows' places are gathered from the index first
	Hash            // by an index of this kind, as are those that follow
	GIN
	GiST
	BRIN
	TIDRange // PostgreSQL's: all pages of the table, by a condition on ctid
)

var plans = [...]string{"any", "sequential", "index", "index-only", "bitmap", "hash", "gin", "gist", "brin",
	"tid-range"}

func (p Plan) String() string { return plans[p] }

// ParsePlan reads a plan's name. "" means AnyPlan.
func ParsePlan(s string) (Plan, error) {
	if p := slices.Index(plans[:], s); p >= 0 {
		return Plan(p), nil
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

// ForeignKey says that a column refers to primary keys of an earlier table, given by its index in the workload.
type ForeignKey struct{ Column, Table int }

// Table is a set of rows. Rows with primary keys 0..Rows-1 are loaded before the run; others may be inserted.
type Table struct {
	Name    string // keys in the history are Name/pk; of an unnamed table they are the integers pk
	Rows    int
	Payload int64 // what loaded rows hold, unless PayloadOf says so row by row
	// Sparse says that most loaded rows will never be touched.
	Sparse    bool
	PayloadOf func(pk int64) int64
	// WideOf, if set, makes payloads lists of numbers, in Op.Row. It returns those of a loaded row.
	WideOf func(pk int64) []int64
	// Columns, if set, makes values rows: operations have Row instead of Payload, and may have conditions. Load fills
	// in the columns of a loaded row.
	Columns []Column
	Load    func(pk int64, row []int64)
	// Unique lists the columns whose index is unique. The store in memory and key-value stores have no unique indexes,
	// so that a workload must keep values different itself, or accept duplicates.
	Unique []int
	// Foreign lists its foreign keys. The database refuses a row without its parent, and the deletion of a parent with
	// rows. Refused attempts are tried again, so that a workload must not request anything that is always refused. The
	// store in memory and key-value stores have no foreign keys.
	Foreign []ForeignKey
	Plan    Plan
	// Roomy says that indexes should have free space, if the database supports that. PostgreSQL's serializable
	// transactions conflict by the page of an index instead of the row.
	Roomy bool
	// Direct says that an update or a delete with a condition finds its rows itself, in one statement, if the database
	// can report them afterwards. Otherwise a locking read finds them, and the change uses their keys. The store in
	// memory has only one way.
	Direct bool
	// Counter says that rows have no unique id of their write: the history has payloads in place of versions. Loaded
	// rows must have 0. Two clients must never write the same payload to a row, unless the database makes a mistake.
	Counter bool
	// List makes values lists, to which Append adds elements. Nothing is loaded.
	List bool
}

// Workload is shared by all clients of a run. It is immutable. Each of its clients is for one goroutine.
type Workload interface {
	Tables() []Table
	// Client returns the client of one session. Only this client uses rng.
	Client(session int, rng *rand.Rand) Client
}

// Client makes the transactions of one session. The package comment says how to run it.
type Client interface {
	Next(t *Txn)
	Step(t *Txn)
}
