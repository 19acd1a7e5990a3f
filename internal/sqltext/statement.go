// Package sqltext says what the text of an SQL statement does: which tables it reads and writes, the condition of its
// rows, and where text can be inserted to make it return more. It uses PostgreSQL's own parser (libpg_query, version
// 17); a text that it cannot parse is not understood. The parser starts with the first text, which takes some 3 s of
// CPU and 260 MB; a program that parses nothing does not pay for it.
//
// statement.go has the result, parser.go the parser; tree.go and clause.go read its tree; dialect.go converts the
// parameters and quotes of SQLite and MySQL to PostgreSQL's.
package sqltext

import "slices"

// Kind is the kind of a statement.
type Kind uint8

const (
	Other Kind = iota
	Select
	Insert
	Update
	Delete
	Begin // also START TRANSACTION
	Commit
	Rollback // not to a savepoint
	Savepoint
	RollbackTo
	Release
	Set    // of a setting that says which tables are meant, or what may be seen of them
	Schema // it creates, alters or drops
)

// Table is a table as named in a statement.
type Table struct {
	Schema, Name string // Schema "": not said
	Ref          string // what the statement calls it: its alias, or its name
}

// Operand is a value: an argument or a literal. The zero value is any other expression.
type Operand struct {
	Param int // from 1
	Lit   any // int64, string, Decimal, bool; of a literal
	Known bool
}

// Decimal is how a number is spelled that is no int64.
type Decimal string

// Condition compares a column with operands. Op is =, <, <=, >, >=, !=, or in.
type Condition struct {
	Column string
	Op     string
	With   []Operand
}

// Output is a column that a statement returns, "" for an expression. Star means all columns of the tables.
type Output struct {
	Column string
	Ref    string // the table as the statement says it; "": it does not
	As     string // its name in the answer; "": of an expression
	Star   bool
}

// Ordinal is a number in ORDER BY or GROUP BY that means an output.
type Ordinal struct{ Start, End, N int }

// Stmt is one statement of a text.
type Stmt struct {
	Kind       Kind
	Start, End int    // its bytes, without the semicolon
	Level      string // of Begin and SET TRANSACTION: the isolation level, "" as ever
	Name       string // of a savepoint, of what EXECUTE runs or FETCH reads
	Chain      bool   // COMMIT AND CHAIN begins the next

	Target   Table    // of Insert, Update and Delete
	Rows     []Table  // of Select: base tables whose rows it returns, joined or alone
	Merged   bool     // a column without a table's name may be of several: an outer join by USING
	Inner    *Stmt    // of Select: what it reads by way of its one sub-select, with its own outputs
	Mentions []Table  // every table, wherever it stands
	Writes   bool     // it may change rows of what it mentions
	Cascade  bool     // TRUNCATE … CASCADE empties others too
	Calls    []string // functions that it calls, without their schema; ".f" may be a column or a call
	Outer    []string // of Select: functions that make it an aggregate if they are one
	Nested   []string // of Select: functions in its sub-selects that may make it an aggregate
	Why      string   // why no output can be added; "": it can

	At       int // where outputs are inserted; -1: at End, behind RETURNING
	Ordinals []Ordinal
	Outputs  []Output
	Where    []Condition // comparisons that must all hold
	Plain    bool        // Where is the whole condition
	Cut      bool        // rows that meet the condition may be left out: LIMIT, SKIP LOCKED, a join, …
	Locks    bool        // of Select: it may wait for rows
	Of       []string    // of Locks: the tables whose rows it locks; nil: all
	Limited  bool        // LIMIT of one row or more, behind one equality: it cuts off nothing where that is the key's

	Columns   []string    // of Insert
	Values    [][]Operand // of Insert; nil: from elsewhere
	Sets      []string    // columns that Update assigns
	Assigned  []Operand   // their values
	OnlyNew   bool        // ON CONFLICT DO NOTHING
	Upsert    bool        // ON CONFLICT DO UPDATE
	Overwrite []string    // the columns to which Upsert gives the value of the row that was to be inserted
	Arbiters  []string    // the columns by which Upsert finds the row; nil: not said
}

// Blind reports whether the values that an UPDATE assigns come only from its arguments and literals.
func (s *Stmt) Blind() bool {
	return s.Kind == Update && s.Plain && !s.Cut && !slices.ContainsFunc(s.Assigned, func(o Operand) bool {
		return !o.Known
	})
}
