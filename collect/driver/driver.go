// Package driver connects to databases, with one small file for each client library, all behind one interface. A
// driver knows rows, but no transactions of a workload: a row has a key, the unique id of the write that made it, and
// a payload. It classifies every error by its meaning for the open transaction (Class). If the database can report it
// without patches, a driver returns the begin and commit of a transaction in the database's own order.
//
// # Rows
//
// On an SQL database plain rows are in one table, isovet_kv(k bigint primary key, u bigint, p bigint): u is the unique
// id of the write, which a history records as the version; p is the payload, NULL in a tombstone. If some payloads are
// lists of numbers, column w has them, separated by commas. A delete leaves a tombstone, so that a reader can tell
// which delete it saw; a row that never existed is absent. Lists are in isovet_list(k, val), with commas between the
// elements. Rows with columns are in a table of their own, isovet_t<n>(k, u, …). Key-value stores store all of these
// as text.
//
// # Files
//
// driver.go the interface; registry.go from a URL to a driver; store.go and sqldb.go databases of the user's own;
// sql.go, columns.go and upsert.go code for all SQL databases, kv.go for all key-value stores. The databases are
// packages below: postgres (CockroachDB, YugabyteDB and H2 too), mysql (MariaDB, TiDB, Dolt), sqlite, keyvalue (etcd,
// Redis, Badger). A program that imports package all, as package collect does, has them all.
//
// Experimental: this package may still change.
package driver

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"isovet/datasets/workload"
)

// Row is a version of a row. If it is Dead, it is the tombstone that a delete left.
type Row struct {
	Version, Payload int64
	Wide             []int64 // more payload, if Data.Wide is set
	Dead             bool
}

// Class is the meaning of an error for the open transaction.
type Class uint8

const (
	// Fatal says that no transaction can go on.
	Fatal Class = iota
	// Aborted says that the database refused the transaction, which had no effect. After a rollback it may be tried
	// again.
	Aborted
	// Lost says that the connection is gone. If the commit was not sent, the transaction had no effect; otherwise
	// nobody knows.
	Lost
	// Unclear says that the connection still exists, but the database does not know whether the transaction committed.
	Unclear
)

func (c Class) String() string {
	return [...]string{"fatal", "aborted", "connection lost", "outcome unclear"}[c]
}

// Options say how to open a database. The zero value uses the database's own defaults.
type Options struct {
	// Isolation is the name of an isolation level in the database's or isovet's words; "" means the database's default.
	Isolation string
	// Timestamps asks for the data from which the database's own timestamps can be derived.
	Timestamps bool
	// Timeout bounds each answer of a server; 0 means 10 s.
	Timeout time.Duration
	// SetupSQL are statements to run once after the load. SessionSQL are statements with which every new session
	// begins. Both need an SQL database.
	SetupSQL, SessionSQL []string
	// Nodes are the names for the URLs in the history; nil means their hosts and ports.
	Nodes []string
}

// Data is the data to load before a run.
type Data struct {
	Rows  iter.Seq2[int64, Row] // in the order of keys
	Lists bool                  // it has lists, empty at first
	Wide  bool                  // some rows have Row.Wide
	// Tables are the tables whose rows have columns.
	Tables []Table
	// Mark is a number that no earlier run used, and that is loaded last. A client that sees it on a node sees the
	// whole load.
	Mark int64
}

// Table is a table whose rows have integer columns, for predicates: isovet_t<ID>(k, u, …).
type Table struct {
	ID      int
	Columns []workload.Column
	Unique  []int // columns whose index is unique
	Plan    workload.Plan
	Roomy   bool // workload.Table, as is Direct
	Direct  bool
	Foreign []workload.ForeignKey     // workload.Table
	Rows    iter.Seq2[int64, []int64] // primary key, then the version and the columns
}

// Match is a row that an operation with a condition found.
type Match struct {
	PK int64
	// Old and New are the version and the columns before and after the operation. New is nil after a read or a delete.
	Old, New []int64
}

// Change is what an operation does with the rows that match its condition. The zero value only reads them.
type Change struct {
	Delete  bool
	Set     []workload.Set // with Version: an update
	Version int64
	// End is for reads without locks. A session that cannot do that finds all rows.
	End workload.End
	// Lock and Share are for reads: they take the write locks or the read locks of the rows, if the database has such
	// locks.
	Lock, Share bool
}

func (c *Change) Reads() bool { return !c.Delete && c.Set == nil }

// Apply returns the changed row.
func (c *Change) Apply(pk int64, old []int64) []int64 {
	row := append([]int64(nil), old...)
	row[0] = c.Version
	for _, s := range c.Set {
		row[1+s.Column] = s.Value(old[1+s.Column], pk)
	}
	return row
}

// Columnar is a Session that has tables with columns.
type Columnar interface {
	// GetRow returns the version and the columns of a row, or nil.
	GetRow(table int, pk int64, lock bool) ([]int64, error)
	// PutRow inserts or overwrites a row. DeleteRow leaves no tombstone, since a tombstone would match no predicate.
	PutRow(table int, pk int64, row []int64) error
	DeleteRow(table int, pk int64) error
	// Where finds the rows that are in all ranges, and changes them. The rows are sorted by key; the caller may keep
	// them.
	Where(table int, where []workload.Range, change Change) ([]Match, error)
}

// Inserter is a Columnar that can insert a row unless another row conflicts by a unique index. Without it, tables have
// no unique indexes.
type Inserter interface {
	InsertRow(table int, pk int64, row []int64) (inserted bool, err error)
}

// Saver is a Session with savepoints. Sessions of SQL databases are Savers.
type Saver interface {
	Savepoint() error
	RollbackTo() error
}

const (
	SavepointSQL  = "savepoint isovet"
	RollbackToSQL = "rollback to savepoint isovet"
)

// MarkKey is the key of the row with Data.Mark. Keys of workloads begin at 0.
const MarkKey = -1

// DB is an open database: one server, or the nodes of a cluster. Several goroutines may use it.
type DB interface {
	// Info describes the database.
	Info() Info
	// Load removes the remains of an earlier run, makes and fills the tables, and waits until every node has them. No
	// session may be open.
	Load(ctx context.Context, d Data) error
	// Connect opens a session with a node. Only one goroutine may use the session.
	Connect(ctx context.Context, node int) (Session, error)
	// Classify returns the class of a session's error.
	Classify(err error) Class
	// Cut closes all connections, so that every open call returns an error.
	Cut()
	// Partition cuts a node off from its clients: it closes their connections, and refuses new ones until off is
	// false. It returns false if there is no network between them.
	Partition(node int, off bool) bool
	// Close removes the tables of Load and closes the database.
	Close() error
}

// Sender is a DB whose sessions can send statements in several ways; Info.Statements is the current one.
type Sender interface {
	// Ways returns the other ways, as parameters of a URL. If the URL names one, there are no others.
	Ways() []string
	// Send sets the way for new sessions; "" means the URL's.
	Send(way string) error
}

// Breaker is a DB inside this program that an error can break. It then fails until it is closed and opened again.
type Breaker interface {
	// Breaks reports whether an error, of class Fatal, has broken the database.
	Breaks(err error) bool
}

// Info describes an open database.
type Info struct {
	// Name is product and version, such as "PostgreSQL 15.20". For a fork or re-implementation it names the real
	// product, even if that names another one to its clients: "Dolt 1.83.2 (says MySQL 8.0.31)".
	Name string
	// Version is the server's own answer when it is asked for its version.
	Version string
	// Dialect is the family of the sessions' SQL: "mysql", "postgres", "sqlite", or "" if they have none.
	Dialect string
	// Settings are the statements with which isovet begins every session, before those of Options.SessionSQL.
	Settings []Setting
	// Statements is how statements are sent, as set by the URL or Sender.Send: a parameter and its value, or "" for
	// the driver's default.
	Statements string
	Isolation  string // the level in force, in the database's words
	Nodes      []Node
	// Unbounded says that Options.Timeout cannot bound calls: one may never return.
	Unbounded bool
}

// Setting is a statement with which isovet begins every session.
type Setting struct {
	SQL string `json:"sql"`
	// Refused is the answer of a server that does not know the setting, or "" if it accepted it.
	Refused string `json:"refused,omitempty"`
}

// Node is one server.
type Node struct {
	Name     string
	ReadOnly bool // a replica
}

// Session runs one transaction after the other: Begin, operations, then Commit or Rollback. After an error of class
// Aborted or Unclear the caller must roll back, after Lost it must close the session.
type Session interface {
	Begin() error
	// Get reads a row. With lock it takes the row's write lock, if the database has such locks.
	Get(key int64, lock bool) (r Row, found bool, err error)
	// Put inserts or overwrites a row.
	Put(key int64, r Row) error
	// Append adds an element to a list.
	Append(key, element int64) error
	// List reads a whole list into dst. found is false if nothing was ever appended to it.
	List(dst []int64, key int64) (elements []int64, found bool, err error)
	Commit() error
	Rollback() error
	Close()
}

// Accessor is a Session that can begin a read-only transaction. If the database refuses one, it begins a normal
// transaction.
type Accessor interface {
	BeginAs(a workload.Access) error
}

// Autocommitter is a Session whose next operation can be a transaction by itself, at the same level, without Begin and
// Commit. writes says that the operation is a Put, a PutRow or an Append; otherwise it must be a read. It returns
// false if the session cannot do this.
type Autocommitter interface {
	Autocommit(writes bool) (bool, error)
}

// NoTime marks a missing timestamp.
const NoTime = math.MinInt64

// Stamp has a session's data about a transaction's place in the database's own order.
type Stamp struct {
	Start, Commit int64  // NoTime: not known
	Snapshot      string // PostgreSQL: pg_current_snapshot()
	XID           uint64 // PostgreSQL: pg_current_xact_id(); 0: none was given
}

// Stamper is a Session that has stamps.
type Stamper interface {
	// Stamp returns the stamp of the transaction that has just ended.
	Stamp() Stamp
}

// Stamped is a transaction whose timestamps are wanted: its stamp and, if it wrote, the key and version of one of its
// last writes.
type Stamped struct {
	Stamp
	Committed, Wrote bool // Committed is false if the outcome is unknown
	Key, Version     int64
}

// Deleted is Stamped.Version of a key that the transaction deleted.
const Deleted = math.MinInt64

// Resolver is a DB that finds timestamps after the run.
type Resolver interface {
	// Resolve sets Start and Commit. It leaves them NoTime if it cannot know them.
	Resolve(ctx context.Context, txns []Stamped) error
}

// ErrUnsupported says that a database does not have this operation, level or timestamps.
var ErrUnsupported = errors.New("not supported")

func Unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnsupported, fmt.Sprintf(format, args...))
}

// unsent is an error from before the commit was sent. Even if the connection is lost, the transaction had no effect.
type unsent struct{ error }

func (n unsent) Unwrap() error { return n.error }

// NotSent marks an error as one from before the commit was sent.
func NotSent(err error) error { return unsent{err} }

// CommitNotSent reports whether an error of Commit is from before the commit was sent, so that the transaction had no
// effect.
func CommitNotSent(err error) bool { return errors.As(err, new(unsent)) }
