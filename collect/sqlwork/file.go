package sqlwork

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"isovet/internal/sqlstmt"
	"isovet/internal/sqltext"
)

// Workload is the content of a file.
type Workload struct {
	Name string `yaml:"name"`
	// Setup is run once before the load, Teardown once after it, and Session in every new session.
	Setup    []string `yaml:"setup"`
	Session  []string `yaml:"session"`
	Teardown []string `yaml:"teardown"`
	// Tables are the tables whose rows are recorded, with the columns of their keys and versions.
	Tables       map[string]*Table     `yaml:"tables"`
	Parameters   map[string]*Parameter `yaml:"parameters"`
	Transactions []*Transaction        `yaml:"transactions"`
	// Operations says that each transaction is an operation on an object, such as a queue. The history then has its
	// calls and results instead of reads and writes.
	Operations bool `yaml:"operations"`
	// Variants are the workload's variants, the first by default.
	Variants []string `yaml:"variants"`

	postgres bool
}

// Table names the columns of a table that have the key and the version, which the last write set.
type Table struct {
	Name    string `yaml:"-"`
	Key     string `yaml:"key"`
	Version string `yaml:"version"`

	table sqlstmt.Table // without quotes
}

// Transaction is a template.
type Transaction struct {
	Name   string  `yaml:"name"`
	Weight float64 `yaml:"weight"` // 0: 1
	// Rollback is the share of these transactions that the client rolls back.
	Rollback float64 `yaml:"rollback"`
	Steps    []*Step `yaml:"steps"`
	// Value is the value with which an operation is invoked, in JSON with parameters; "" is null.
	Value string `yaml:"value"`
	// Last says that the operation runs only once, after all others.
	Last bool `yaml:"last"`
}

// Step is a statement. In the file it is a text or a map.
type Step struct {
	SQL string `yaml:"sql"`
	// Table, Key and Version describe a statement whose text isovet does not understand: the table, the parameter with
	// the key of its only row, and the parameter with the version that it writes.
	Table   string `yaml:"table"`
	Key     string `yaml:"key"`
	Version string `yaml:"version"`
	// Keep turns columns of the answer's first row into parameters of later statements: parameter → column.
	Keep map[string]string `yaml:"keep"`
	// Unrecorded says that the statement is run but not recorded.
	Unrecorded bool `yaml:"unrecorded"`
	// Only lists the dialects and variants with the step; nil: all.
	Only []string `yaml:"only"`
	// Some says that the operation fails if the statement finds or changes no row. Answer says how its rows are the
	// operation's result: as map, list or value; "": they are not.
	Some   bool   `yaml:"some"`
	Answer string `yaml:"answer"`

	line int
	what statement
}

// UnmarshalYAML also accepts a text.
func (s *Step) UnmarshalYAML(n *yaml.Node) error {
	s.line = n.Line
	if n.Kind == yaml.ScalarNode {
		s.SQL = n.Value
		return nil
	}
	type plain Step
	if err := known(n, "sql", "table", "key", "version", "keep", "unrecorded", "only", "some", "answer"); err != nil {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: expected a statement, or a map with sql", n.Line)
	}
	return n.Decode((*plain)(s))
}

// known refuses unknown fields; the library does so only at the top level.
func known(n *yaml.Node, names ...string) error {
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if k := n.Content[i]; !slices.Contains(names, k.Value) {
			return fmt.Errorf("line %d: field %q; expected some of %v", k.Line, k.Value, names)
		}
	}
	return nil
}

// Read reads a file for PostgreSQL, or for another database. Errors name the file and the line, and say what was
// expected.
func Read(path string, postgres bool) (*Workload, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	w, err := Parse(b, postgres)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w.Name = cmp.Or(w.Name, path)
	return w, nil
}

// Parse reads a file's text.
func Parse(text []byte, postgres bool) (*Workload, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	w := &Workload{postgres: postgres}
	if err := d.Decode(w); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is empty; expected tables and transactions")
		}
		return nil, err
	}
	if err := d.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, errors.Join(errors.New("the file has text after its first document; expected one document"), err)
	}
	return w, w.check()
}

var identifier = regexp.MustCompile(`^[A-Za-z_]\w*$`)

// Row returns the names of a row and its version in the history.
func (t *Table) Row(key, version any) (string, any) { return t.table.Row(key, version) }

// check completes the workload and returns an error if it is wrong.
func (w *Workload) check() error {
	switch {
	case w.Operations && len(w.Tables) > 0:
		return errors.New("tables and operations: true; expected one of them")
	case !w.Operations && len(w.Tables) == 0:
		return errors.New("tables is missing; expected each table's key and version column, such as " +
			"account: {key: id, version: ver}")
	}
	labels := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(w.Tables)) {
		t := w.Tables[name]
		if err := w.checkTable(name, t); err != nil {
			return fmt.Errorf("table %s: %w", name, err)
		}
		label := strings.ToLower(t.table.Name)
		if other, ok := labels[label]; ok {
			return fmt.Errorf("table %s: it differs from %s only by quotes or capitals", name, other)
		}
		labels[label] = name
	}
	for name, p := range w.Parameters {
		if err := p.check(name, w.Parameters); err != nil {
			return fmt.Errorf("parameter %q: %w", name, err)
		}
	}
	if len(w.Transactions) == 0 {
		return errors.New("transactions is missing; expected at least one")
	}
	kept := false // some transaction may commit
	for i, t := range w.Transactions {
		if t == nil {
			return fmt.Errorf("transaction %d is empty; expected name, weight, steps", i+1)
		}
		t.Name = cmp.Or(t.Name, fmt.Sprintf("transaction %d", i+1))
		t.Weight = cmp.Or(t.Weight, 1)
		kept = kept || t.Rollback < 1 && !t.Last
		if !(t.Weight > 0 && t.Weight <= math.MaxFloat32 && t.Rollback >= 0 && t.Rollback <= 1) || len(t.Steps) == 0 {
			return fmt.Errorf("%s: weight %g, rollback %g, %d steps; expected a positive weight, a share from 0 to 1, "+
				"and steps", t.Name, t.Weight, t.Rollback, len(t.Steps))
		}
		if err := w.checkOperation(t); err != nil {
			return err
		}
		names := map[string]bool{}
		for n, s := range t.Steps {
			if s == nil {
				return fmt.Errorf("%s: step %d is empty; expected a statement", t.Name, n+1)
			}
			if err := w.resolve(s, names); err != nil {
				return fmt.Errorf("line %d: %s: %w", s.line, t.Name, err)
			}
		}
	}
	if !kept {
		return errors.New("rollback: 1 or last: true in every transaction; expected one that may commit")
	}
	return nil
}

// bare removes the quotes from a name.
var bare = strings.NewReplacer("`", "", `"`, "", "[", "", "]", "").Replace

// sql parses statements as the database's recorders do.
func (w *Workload) sql(text string) ([]sqltext.Stmt, error) {
	if w.postgres {
		return sqltext.Parse(text)
	}
	all, _, err := sqltext.ParseDialect(text, true)
	return all, err
}

func (w *Workload) checkTable(name string, t *Table) error {
	if t == nil {
		return errors.New("expected names of columns, such as {key: id, version: ver}")
	}
	t.Name, t.table = name, sqlstmt.Table{Name: bare(name), Key: bare(t.Key), Version: bare(t.Version)}
	all, err := w.sql(fmt.Sprintf("select %s, %s from %s", t.Key, t.Version, name))
	ok := err == nil && len(all) == 1 && len(all[0].Outputs) == 2 && len(all[0].Rows) == 1 && all[0].Plain &&
		len(all[0].Where) == 0 && !strings.EqualFold(t.table.Key, t.table.Version)
	for i := range 2 {
		ok = ok && all[0].Outputs[i].Column != "" && all[0].Outputs[i].Ref == ""
	}
	if !ok {
		return fmt.Errorf("key %q, version %q; expected the names of a table and of two columns, such as account: "+
			"{key: id, version: ver}, in the database's quotes where it needs them", t.Key, t.Version)
	}
	return nil
}

// resolve finds out what a step reads and writes.
func (w *Workload) resolve(s *Step, kept map[string]bool) error {
	if err := errors.Join(w.checkStep(s), w.parse(s)); err != nil {
		return err
	}
	for _, name := range s.what.names {
		if w.Parameters[name] == nil && !kept[name] {
			return fmt.Errorf("%q: no parameter :%s; expected one of %v", s.SQL, name, slices.Sorted(maps.Keys(
				w.Parameters)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Keep)) {
		if !identifier.MatchString(name) {
			return fmt.Errorf("keep: %q; expected a parameter's name, and the column whose value it keeps", name)
		}
		if w.Parameters[name] != nil {
			return fmt.Errorf("keep: %s is a parameter already", name)
		}
		kept[name] = true
	}
	return nil
}
