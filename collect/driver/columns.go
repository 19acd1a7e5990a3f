package driver

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"isovet/datasets/workload"
	"isovet/internal/slice"
)

// ColumnsSQL makes the SQL statements for tables with columns. All values are integers, which it writes into the text.
type ColumnsSQL struct {
	Tables []Table
	// Ask runs a statement and calls row with each row. The slice is valid until the next row.
	Ask    func(sql string, row func([]int64) error) error
	Upsert Upsert
	// KeyTaken reports whether an insert failed because its primary key exists. OnKey needs it: "on duplicate key"
	// applies to every unique index. So a row of a table with a unique index is inserted first, and overwritten if
	// KeyTaken is true.
	KeyTaken func(error) bool
	dual     string // text behind a select without a table
	mod      bool   // the remainder is mod(a, b), not a % b
	Lock     string // " for update", or "" if the database has none
	Share    string // " for share", or ""
	Tells    Telling
	// Text runs a statement whose answer is one text; for Telling.gathers.
	Text func(sql string) (string, error)
	// Hint returns the text after a table's name that makes a select use a plan. index is the name of the index. If
	// Hint is nil, there is no text.
	Hint func(p workload.Plan, index string) string
	// And is text behind the condition of a select that makes the database use the plan.
	And string
}

func (c *ColumnsSQL) table(id int) *Table {
	for i := range c.Tables {
		if c.Tables[i].ID == id {
			return &c.Tables[i]
		}
	}
	panic(fmt.Sprintf("driver: no table %d with columns was loaded", id))
}

// columnName returns the name of a column in the database, which cannot be a reserved word.
func columnName(c workload.Column) string { return "c_" + c.Name }

func TableName(id int) string { return "isovet_t" + strconv.Itoa(id) }

// CreateTables returns the statements that make the tables. integer is the integer type; options is the text after the
// columns.
func CreateTables(tables []Table, integer, options string) (sql []string) {
	for _, t := range slice.Refs(tables) {
		q := fmt.Sprintf("create table %s(k %s primary key, u %s not null", TableName(t.ID), integer, integer)
		for _, c := range t.Columns {
			q += fmt.Sprintf(", %s %s not null", columnName(c), integer)
		}
		q += oldColumns(t, integer)
		for _, f := range t.Foreign { // in a clause of its own: MySQL ignores it in a column's
			q += fmt.Sprintf(", foreign key (%s) references %s(k)", columnName(t.Columns[f.Column]), TableName(f.Table))
		}
		sql = append(sql, q+")"+options)
		for i, c := range t.Columns {
			if c.Index {
				sql = append(sql, createIndex(t, i))
			}
		}
	}
	return sql
}

// createIndex returns the statement that makes the index of a column.
func createIndex(t *Table, i int) string {
	of, unique := columnName(t.Columns[i]), ""
	if t.Plan == workload.IndexOnly {
		of = allColumns(t, i)
	}
	if slices.Contains(t.Unique, i) {
		of, unique = columnName(t.Columns[i]), "unique "
	}
	return fmt.Sprintf("create %sindex %s on %s(%s)", unique, IndexName(t.ID, t.Columns[i]), TableName(t.ID), of)
}

func IndexName(table int, c workload.Column) string { return TableName(table) + "_" + columnName(c) }

// allColumns lists the columns of an index on all columns, beginning with column first.
func allColumns(t *Table, first int) string {
	of := columnName(t.Columns[first])
	for i, c := range t.Columns {
		if i != first {
			of += ", " + columnName(c)
		}
	}
	return of + ", k, u"
}

// hinted returns a table's name for a select, with the hint that makes the database use the table's plan.
func (c *ColumnsSQL) hinted(t *Table, where []workload.Range) string {
	name := TableName(t.ID)
	if c.Hint == nil || t.Plan == workload.AnyPlan || len(where) == 0 || !t.Columns[where[0].Column].Index {
		return name
	}
	return name + c.Hint(t.Plan, IndexName(t.ID, t.Columns[where[0].Column]))
}

// MaxTables bounds the tables with columns of a workload. DropTables drops so many.
const MaxTables = 96

// DropTables returns the statements that remove all of isovet's tables.
func DropTables() []string {
	return slice.Map(allTables(), func(name string) string { return "drop table if exists " + name })
}

// DropAll returns one statement that does the same, where the database knows it.
func DropAll() string { return "drop table if exists " + strings.Join(allTables(), ", ") }

func allTables() []string {
	names := []string{"isovet_kv", "isovet_list"}
	for i := range MaxTables { // first the tables that refer to others
		names = append(names, TableName(MaxTables-1-i))
	}
	return names
}

// LoadTables inserts the rows, batch rows with each statement.
func LoadTables(tables []Table, batch int, exec func(sql string) error) error {
	for _, t := range slice.Refs(tables) {
		insert := "insert into " + t.target() + " values "
		text, n := []byte(insert), 0
		flush := func() error {
			if n == 0 {
				return nil
			}
			err := exec(string(text))
			text, n = text[:len(insert)], 0
			return err
		}
		for pk, row := range t.Rows {
			if n > 0 {
				text = append(text, ',')
			}
			text = strconv.AppendInt(append(text, '('), pk, 10)
			for _, v := range row {
				text = strconv.AppendInt(append(text, ','), v, 10)
			}
			text = append(text, ')')
			if n++; n == batch {
				if err := flush(); err != nil {
					return err
				}
			}
		}
		if err := flush(); err != nil {
			return err
		}
	}
	return nil
}

func (c *ColumnsSQL) names(t *Table) string {
	var b strings.Builder
	b.WriteString("k, u")
	for _, col := range t.Columns {
		b.WriteString(", " + columnName(col))
	}
	return b.String()
}

func (c *ColumnsSQL) GetRow(table int, pk int64, lock bool) (row []int64, err error) {
	q := fmt.Sprintf("select %s from %s where k = %d", c.names(c.table(table)), TableName(table), pk)
	if lock {
		q += c.Lock
	}
	err = c.Ask(q, func(v []int64) error {
		row = append([]int64(nil), v[1:]...)
		return nil
	})
	return row, err
}

func noRow([]int64) error { return nil }

func valuesOf(pk int64, row []int64) []string {
	return slice.Map(append([]int64{pk}, row...), func(v int64) string { return strconv.FormatInt(v, 10) })
}

func (c *ColumnsSQL) PutRow(table int, pk int64, row []int64) error {
	t := c.table(table)
	columns, values := append([]string{"k"}, columnsOf(t)...), valuesOf(pk, row)
	if c.Upsert == OnKey && c.KeyTaken != nil && len(t.Unique) > 0 {
		err := c.Ask(InsertSQL(t.target(), values), noRow)
		if err == nil || !c.KeyTaken(err) {
			return err
		}
		return c.Ask(UpdateSQL(TableName(table), columns, values, false), noRow)
	}
	if c.Upsert != LookFirst {
		return c.Ask(c.Upsert.SQL(c.target(t), columns, values, false, c.dual), noRow)
	}
	have, err := c.GetRow(table, pk, true)
	switch {
	case err != nil:
		return err
	case have == nil:
		return c.Ask(InsertSQL(t.target(), values), noRow)
	}
	return c.Ask(UpdateSQL(TableName(table), columns, values, false), noRow)
}

// InsertRow inserts a row unless another row conflicts with it. It uses the database's statement for that (ON CONFLICT
// DO NOTHING, INSERT IGNORE), or else a locking read of the unique values.
func (c *ColumnsSQL) InsertRow(table int, pk int64, row []int64) (inserted bool, err error) {
	t := c.table(table)
	values := valuesOf(pk, row)
	insert := InsertSQL(t.target(), values)
	switch c.Upsert {
	case OnConflict:
		err = c.Ask(insert+" on conflict do nothing returning k", func([]int64) error {
			inserted = true
			return nil
		})
		return inserted, err
	case OnKey:
		if err := c.Ask(strings.Replace(insert, "insert", "insert ignore", 1), noRow); err != nil {
			return false, err
		}
		err = c.Ask("select row_count()", func(v []int64) error {
			inserted = v[0] > 0
			return nil
		})
		return inserted, err
	}
	there := false
	for _, i := range t.Unique {
		err := c.Ask(fmt.Sprintf("select k from %s where %s = %d%s", TableName(table), columnName(t.Columns[i]),
			row[1+i], c.Lock), func([]int64) error { there = true; return nil })
		if err != nil || there {
			return false, err
		}
	}
	return true, c.Ask(insert, noRow)
}

func (c *ColumnsSQL) DeleteRow(table int, pk int64) error {
	return c.Ask(fmt.Sprintf("delete from %s where k = %d", TableName(table), pk), noRow)
}

// Where selects the rows of a condition, with locks if it changes them, and then changes them. So it knows the
// replaced versions on every database. On a Direct table the changing statement itself finds the rows, if the database
// can report them.
func (c *ColumnsSQL) Where(table int, where []workload.Range, change Change) (found []Match, err error) {
	t := c.table(table)
	if c.direct(t, &change) {
		return c.whereDirect(t, where, change)
	}
	if change.End != workload.Whole {
		return c.whereEnd(t, where, change.End)
	}
	q := fmt.Sprintf("select %s from %s where %s order by k", c.names(t), c.hinted(t, where),
		condition(t, where)+c.And)
	switch {
	case !change.Reads() || change.Lock:
		q += c.Lock
	case change.Share:
		q += c.Share
	}
	var in []byte
	err = c.Ask(q, func(v []int64) error {
		m := Match{PK: v[0], Old: append([]int64(nil), v[1:]...)}
		if change.Set != nil {
			m.New = change.Apply(m.PK, m.Old)
		}
		found = append(found, m)
		if len(in) > 0 {
			in = append(in, ',')
		}
		in = strconv.AppendInt(in, m.PK, 10)
		return nil
	})
	if err != nil || change.Reads() || len(found) == 0 {
		return found, err
	}
	if change.Delete {
		return found, c.Ask(fmt.Sprintf("delete from %s where k in (%s)", TableName(table), in), noRow)
	}
	set := fmt.Sprintf("u = %d", change.Version)
	for _, s := range change.Set {
		set += ", " + columnName(t.Columns[s.Column]) + " = " + c.expression(columnName(t.Columns[s.Column]), s)
	}
	return found, c.Ask(fmt.Sprintf("update %s set %s where k in (%s)", TableName(table), set, in), noRow)
}

// whereEnd reads one end of a condition's rows. min and max return no row if there is none, instead of null.
func (c *ColumnsSQL) whereEnd(t *Table, where []workload.Range, end workload.End) (found []Match, err error) {
	at := where[0].Column
	column := columnName(t.Columns[at])
	from := fmt.Sprintf(" from %s where %s", c.hinted(t, where), condition(t, where))
	if end == workload.Min || end == workload.Max {
		value := fmt.Sprintf("%v(%s)", end, column)
		return found, c.Ask("select "+value+from+" having "+value+" is not null", func(v []int64) error {
			found = []Match{{Old: make([]int64, 1+len(t.Columns))}}
			found[0].Old[1+at] = v[0]
			return nil
		})
	}
	q := "select " + c.names(t) + from + " order by " + column
	if !end.Low() {
		q += " desc"
	}
	return found, c.Ask(q+" limit 1", func(v []int64) error {
		found = []Match{{PK: v[0], Old: slices.Clone(v[1:])}}
		return nil
	})
}

// expression returns a Set's value as SQL.
func (c *ColumnsSQL) expression(column string, s workload.Set) string {
	q := fmt.Sprintf("%d + %d * k", s.Add, s.Mul)
	if s.Keep {
		q = column + " + " + q
	}
	if s.Mod != 0 && c.mod {
		q = fmt.Sprintf("mod(%s, %d)", q, s.Mod)
	} else if s.Mod != 0 {
		q = fmt.Sprintf("(%s) %% %d", q, s.Mod)
	}
	return q
}

// condition returns a conjunction of ranges as SQL.
func condition(t *Table, where []workload.Range) string {
	var all []string
	for _, r := range where {
		add := func(comparison string, n int64) {
			value := strconv.FormatInt(n, 10)
			if t.Plan == workload.GIN || t.Plan == workload.GiST { // PostgreSQL's number has a type, but no quoted one
				value = "'" + value + "'"
			}
			all = append(all, columnName(t.Columns[r.Column])+comparison+value)
		}
		switch {
		case r.Max == r.Min+1:
			add(" = ", r.Min)
			continue
		case r.Min != math.MinInt64:
			add(" >= ", r.Min)
		}
		if r.Max != math.MaxInt64 {
			add(" < ", r.Max)
		}
	}
	if len(all) == 0 {
		return "1 = 1"
	}
	return strings.Join(all, " and ")
}
