// Package campaign hunts for violations in each cell of a table: databases × isolation levels asked for × workloads ×
// faults. A history is checked at every level that the documentation promises; each level of the plan has cells of its
// own. Each cell in turn gets some time, with a seed of its own. A folder records the hunts, so that a stopped campaign
// can go on, and several machines can share one.
//
// Files: plan.go the plan and its cells; run.go the hunts, on several cores; servers.go the servers that they share;
// table.go the results as a table and as a page.
//
// Experimental: this package may still change.
package campaign

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/hunt"
	"isovet/collect/server"
	"isovet/datasets/workload"
	"isovet/internal/slice"
	"isovet/level"
)

// Plan is the plan of a campaign, a file in YAML. Only the field databases is required.
type Plan struct {
	Databases []Database `yaml:"databases"`
	// Workloads and Faults (written like --fault) apply to every database that has none of its own.
	Workloads []string `yaml:"workloads"`
	Faults    []string `yaml:"faults"`
	// Slice is the time for one hunt of a cell; 0 means 20 s.
	Slice time.Duration `yaml:"slice"`
	// Sessions and Txns are the size of a hunt's round; 0 means the hunt's defaults.
	Sessions int `yaml:"sessions"`
	Txns     int `yaml:"txns"`
	// Script is the program for faults such as "script:5s".
	Script string `yaml:"fault-script"`
	// Timeout bounds an answer of the database; 0 means 10 s.
	Timeout time.Duration `yaml:"op-timeout"`
}

// Database is a database of a plan.
type Database struct {
	// DB is a URL, the URLs of a cluster's nodes separated by blanks, or the name of a server to start.
	DB string `yaml:"db"`
	// Isolations are the isolation levels to ask for; nil means all that the database offers.
	Isolations []string `yaml:"isolations"`
	// Levels are the levels to check; nil means those that the database's documentation promises for the isolation.
	Levels    []string `yaml:"levels"`
	Workloads []string `yaml:"workloads"`
	Faults    []string `yaml:"faults"`
}

// defaultWorkloads cover most of what databases do with rows, lists and conditions: plain and single statements,
// several indexes, foreign keys and savepoints. A database that promises only read committed does not get rows: InnoDB
// documents that updates find the newest rows while reads see the snapshot, which isovet counts as a non-monotonic
// read.
var defaultWorkloads = append([]string{"rmw", "smallbank", "counters", "list-append", "longfork", "mix", "claim",
	"rows", "booking", "rows/direct", "claim/insert", "references", "rows/savepoints", "rows/autocommit",
	"rmw/autocommit", "rmw/subtransactions"}, ssiPaths...)

// ssiPaths are workloads of defaultWorkloads for PostgreSQL's serializable alone: each takes a path that may leave no
// predicate lock.
var ssiPaths = []string{"claim/tid-range", "claim/replace", "claim/gist"}

// schemaFault is the fault for SQL databases with known schema changes.
const schemaFault = "ddl:1s"

// Default returns a plan of all databases inside this program and all servers that it can start, at the levels that
// their documentation promises. PostgreSQL is in it once for each way of sending statements.
func Default() *Plan {
	p := &Plan{Faults: []string{"none", schemaFault}}
	for _, s := range driver.All() {
		if s.Embedded {
			p.Databases = append(p.Databases, Database{DB: s.URLs[0] + ":"})
		}
	}
	for _, k := range server.All() {
		db := k.Name + ":start"
		p.Databases = append(p.Databases, Database{DB: db, Faults: []string{"none", "kill:2s", schemaFault}})
		if k.Name != "postgres" {
			continue
		}
		for _, way := range []string{"simple_protocol", "exec", "cache_statement"} {
			p.Databases = append(p.Databases, Database{DB: db + "?default_query_exec_mode=" + way})
		}
	}
	p.fill()
	return p
}

// Read reads a plan. Errors name the file and the field, and say what was found and expected.
func Read(file string) (*Plan, error) {
	p := &Plan{}
	if err := Decode(file, p); err != nil {
		return nil, err
	}
	p.fill()
	if err := p.validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return p, nil
}

// Decode reads a file in YAML into *x, also for plans of other kinds. Errors name the file and an unknown field.
func Decode(file string, x any) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(x); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (p *Plan) fill() {
	p.Slice = cmp.Or(p.Slice, 20*time.Second)
	if p.Workloads == nil {
		p.Workloads = defaultWorkloads
	}
	if p.Faults == nil {
		p.Faults = []string{"none"}
	}
	for i := range p.Databases {
		d := &p.Databases[i]
		if d.Workloads == nil {
			d.Workloads = p.Workloads
		}
		if d.Faults == nil {
			d.Faults = p.Faults
		}
	}
}

func (p *Plan) validate() error {
	if len(p.Databases) == 0 {
		return errors.New("databases: none; expected a list such as [{db: \"postgres:start\"}]")
	}
	if p.Slice < time.Second || p.Sessions < 0 || p.Txns < 0 || p.Timeout < 0 {
		return fmt.Errorf("slice %v, sessions %d, txns %d, op-timeout %v; expected at least 1s, and none negative",
			p.Slice, p.Sessions, p.Txns, p.Timeout)
	}
	for i, d := range p.Databases {
		at := fmt.Sprintf("databases, number %d", i+1)
		if strings.TrimSpace(d.DB) == "" {
			return fmt.Errorf("%s: db is missing; expected a URL, or a server such as postgres:start", at)
		}
		for _, w := range d.Workloads {
			name, variant := split(w)
			info, err := workload.Lookup(name)
			if err == nil {
				_, _, err = info.New(workload.Params{Variant: variant, Database: true})
			}
			if err != nil {
				return fmt.Errorf("%s: workloads: %w", at, err)
			}
		}
		for _, f := range d.Faults {
			fault, err := collect.ParseFault(f)
			if err == nil && fault.Kind == collect.Scripted && p.Script == "" {
				err = fmt.Errorf("%s; expected fault-script with it", f)
			}
			if err != nil {
				return fmt.Errorf("%s: faults: %w", at, err)
			}
		}
		for _, l := range d.Levels {
			if _, err := level.Parse(l); err != nil {
				return fmt.Errorf("%s: levels: %w", at, err)
			}
		}
	}
	return nil
}

// split splits a name such as "rows/direct" into workload and variant.
func split(w string) (name, variant string) {
	name, variant, _ = strings.Cut(w, "/")
	return name, variant
}

// Cell is a cell of the table: one kind of hunt.
type Cell struct {
	DB        string `json:"db"` // without passwords
	Product   string `json:"product,omitempty"`
	Isolation string `json:"isolation"`
	Level     string `json:"level"` // to check; several have commas between them
	Workload  string `json:"workload"`
	Fault     string `json:"fault"`
	// Source is the place in the documentation that promises the level; "" means that the plan asks for the level.
	Source string `json:"source,omitempty"`
	// Allowed are anomalies that the level forbids but the documentation allows.
	Allowed []level.Anomaly `json:"allowed,omitempty"`

	urls  []string
	at    []level.Level
	fault collect.Fault
	rank  int // by fault and workload, in the plan's order: the first ones find most
}

// key identifies a cell across runs. It leaves out the database's product name, since its version may change.
func (c *Cell) key() string {
	return strings.Join([]string{c.DB, c.Isolation, c.Level, c.Workload, c.Fault}, "|")
}

// Away is a database of the plan that could not be opened.
type Away struct {
	DB     string `json:"db"`
	Reason string `json:"reason"`
}

// places returns the databases of a plan. Those that open fast come first: databases inside this program, running
// ones, servers to start, and clusters.
func (p *Plan) places() []Database {
	class := func(d Database) int {
		url, _, _ := strings.Cut(d.DB, " ")
		switch {
		case strings.HasPrefix(url, "galera:"), strings.HasPrefix(url, "tidb:"):
			return 3
		case server.Is(url):
			return 2
		}
		if s, err := driver.Lookup(url); err == nil && s.Embedded {
			return 0
		}
		return 1
	}
	all := slices.Clone(p.Databases)
	slices.SortStableFunc(all, func(a, b Database) int { return cmp.Compare(class(a), class(b)) })
	return all
}

// name returns the database's URLs without passwords.
func (d *Database) name() string {
	return strings.Join(slice.Map(strings.Fields(d.DB), driver.Redact), " ")
}

// look opens a database once to learn what it is, and makes its cells. s is its running server, if there is one.
func (p *Plan) look(ctx context.Context, d *Database, s *server.Cluster) (cells []*Cell, away []Away) {
	name, urls := d.name(), strings.Fields(d.DB)
	isolations := d.Isolations
	if isolations == nil {
		var err error
		if isolations, err = offered(urls[0]); err != nil {
			return nil, []Away{{name, err.Error()}}
		}
	}
	info, err := open(ctx, collect.Config{DB: urls, Timeout: p.Timeout, Server: s})
	if err != nil {
		return nil, []Away{{name, err.Error()}}
	}
	for _, iso := range isolations {
		first, err := driver.IsolationName(urls[0], iso)
		if err == nil && d.Levels == nil && len(driver.Promised(info, first).Levels) == 0 {
			err = errors.New("its documentation promises no level, so there is no level to hunt at")
		}
		if err != nil {
			away = append(away, Away{name + ", " + iso, err.Error()})
			continue
		}
		cells = append(cells, p.cells(d, name, urls, info, first)...)
	}
	return cells, away
}

// open opens a database, and returns its description.
func open(ctx context.Context, c collect.Config) (driver.Info, error) {
	t, err := collect.Open(ctx, c)
	if err != nil {
		return driver.Info{}, err
	}
	return t.Info(), t.Close()
}

// cells returns the cells of a database at an isolation level: at the levels that the plan names or the documentation
// promises. There may be none.
func (p *Plan) cells(d *Database, name string, urls []string, info driver.Info, isolation string) (cells []*Cell) {
	promise := driver.Promised(info, isolation)
	levels := [][]level.Level{promise.Levels} // one history is checked at all of them
	if d.Levels != nil {
		levels = nil
	}
	for _, l := range d.Levels {
		at, _ := level.Parse(l)
		levels = append(levels, []level.Level{at})
	}
	ours := slices.Equal(d.Workloads, defaultWorkloads)
	for _, at := range levels {
		if len(at) == 0 {
			continue
		}
		source, allowed := "", promise.But
		named := hunt.Named(at)
		if slices.ContainsFunc(promise.Levels, func(l level.Level) bool { return l.Implies(at[0]) }) {
			source = promise.Source
		}
		for wi, w := range d.Workloads {
			if name, _ := split(w); ours && name == "rows" && slices.Contains(at, level.ReadCommitted) {
				continue
			}
			if ours && slices.Contains(ssiPaths, w) && (!strings.HasPrefix(info.Name, "PostgreSQL") ||
				!slices.Contains(at, level.Serializable)) {
				continue
			}
			for fi, f := range d.Faults {
				fault, _ := collect.ParseFault(f)
				if fault.Ours() && !server.Is(urls[0]) {
					continue // this program did not start it, and may not break it
				}
				if fault.Kind == collect.Schema && driver.SchemaChanges(info.Dialect, driver.Data{}) == nil {
					continue
				}
				if fault.Kind == collect.Scripted {
					fault.Program = p.Script
				}
				cells = append(cells, &Cell{DB: name, Product: info.Name, Isolation: isolation, Level: named,
					Workload: w, Fault: fault.String(), Source: source, Allowed: allowed, urls: urls, at: at,
					fault: fault, rank: fi*len(d.Workloads) + wi})
			}
		}
	}
	return cells
}

// offered returns the isolation levels that a database offers, by its URL or the name of its server.
func offered(url string) (names []string, err error) {
	kind, _, _ := strings.Cut(url, ":")
	if server.Is(url) && kind == "galera" {
		url = "mysql:"
	} else if server.Is(url) {
		url = kind + ":"
	}
	s, err := driver.Lookup(url)
	if err != nil {
		return nil, err
	}
	for _, entry := range s.Isolations {
		if name, _, _ := strings.Cut(entry, "="); name != "default" {
			names = append(names, name)
		}
	}
	return names, nil
}

// FaultFlag returns the cell's fault as a value of --fault, or "".
func (c *Cell) FaultFlag() string {
	if c.fault.Kind == collect.NoFault {
		return ""
	}
	return c.Fault
}
