package mechanism

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"isovet/internal/slice"
	"isovet/level"
)

// Reads says which reads of a transaction are a consistent view.
type Reads string

const (
	NoReads          Reads = "none"        // consistent reads are not promised
	StatementReads   Reads = "statement"   // each statement has a snapshot of its own
	TransactionReads Reads = "transaction" // one snapshot for all
)

// Snapshot says when a transaction's snapshot is taken (errata L3).
type Snapshot string

const (
	AtFirstStatement Snapshot = "first-statement" // by the first operation
	AtFirstRead      Snapshot = "first-read"      // by the first read, as InnoDB does
	// by BEGIN, or later but before the end of the first operation: safe where the moment is unknown
	AtBegin Snapshot = "begin"
)

// Certifier says how the database keeps transactions serializable besides locks.
type Certifier string

const (
	NoCertifier Certifier = "none"
	CycleCheck  Certifier = "cycles" // the deduced dependencies have no cycle
	// cycles, and a warning for structures that PostgreSQL's own rule would refuse (errata L9)
	SSICertifier Certifier = "ssi"
)

// Profile says which mechanisms implement an isolation level of a database. It is data; the built-in profiles are from
// Leopard's Table I as errata L5 reads it.
type Profile struct {
	Database  string   `json:"database"`
	Isolation string   `json:"isolation"`
	Systems   []string `json:"systems,omitempty"` // other databases with the same mechanisms at this level
	// Level is what the database's level promises, among those that isovet knows.
	Level level.Level `json:"level"`

	Reads    Reads    `json:"reads"`
	Snapshot Snapshot `json:"snapshot,omitempty"` // with transaction reads
	// StaleReads says that a snapshot may be older than the moment at which it is taken (replicas, follower reads).
	StaleReads bool `json:"stale_reads,omitempty"`

	// WriteLocks says that a write takes an exclusive lock of its row and holds it to the end.
	WriteLocks bool `json:"write_locks"`
	// ReadLocks says that a read takes a shared lock of each row and holds it to the end.
	ReadLocks bool `json:"read_locks,omitempty"`
	// FirstUpdaterWins says that of two transactions that wrote a row, one had committed when the other took its
	// snapshot.
	FirstUpdaterWins bool      `json:"first_updater_wins,omitempty"`
	Certifier        Certifier `json:"certifier"`

	Note string `json:"note,omitempty"`
}

// Name returns the profile's name for --profile: database:isolation.
func (p *Profile) Name() string { return p.Database + ":" + p.Isolation }

// Assumes states the assumption of a violation of a mechanism under the profile.
func (p *Profile) Assumes(m Mechanism) string {
	switch m {
	case ConsistentRead:
		if p.Reads == StatementReads {
			return p.Name() + " reads, in each statement, what had committed when the statement ran"
		}
		when := map[Snapshot]string{AtFirstStatement: "its first statement ran", AtFirstRead: "its first read ran",
			AtBegin: "it began"}[p.Snapshot]
		if p.StaleReads {
			return p.Name() + " reads, in all of a transaction, what had committed at one moment, which may be long " +
				"past"
		}
		return p.Name() + " reads, in all of a transaction, what had committed when " + when
	case MutualExclusion:
		if p.ReadLocks {
			return p.Name() + " locks every row that is read (shared) or written (exclusive) until the transaction ends"
		}
		return p.Name() + " locks every row that is written until the transaction ends"
	case FirstUpdaterWins:
		return p.Name() + " refuses a write of a row that another transaction has written and committed since the " +
			"snapshot was taken"
	case SerializationCertifier:
		return p.Name() + " refuses transactions whose dependencies would close a cycle"
	}
	return p.Name()
}

// Validate reports an error in a user's profile.
func (p *Profile) Validate() error {
	bad := func(field, format string, args ...any) error {
		return fmt.Errorf("field %q: %s", field, fmt.Sprintf(format, args...))
	}
	switch {
	case p.Database == "":
		return bad("database", "missing; expected a name")
	case p.Isolation == "":
		return bad("isolation", "missing; expected a name")
	case !p.Level.Serial() && !p.Level.Snapshot() && p.Level != level.RepeatableRead && p.Level != level.ReadCommitted:
		return bad("level", "%s; expected a serializable or snapshot level, repeatable-read or read-committed", p.Level)
	case !slices.Contains([]Reads{NoReads, StatementReads, TransactionReads}, p.Reads):
		return bad("reads", "%q; expected none, statement or transaction", p.Reads)
	case p.Reads == TransactionReads && !slices.Contains([]Snapshot{AtFirstStatement, AtFirstRead, AtBegin},
		p.Snapshot):
		return bad("snapshot", "%q; expected first-statement, first-read or begin", p.Snapshot)
	case p.Reads != TransactionReads && p.Snapshot != "":
		return bad("snapshot", "%q without transaction reads; leave it out", p.Snapshot)
	case p.FirstUpdaterWins && p.Reads != TransactionReads:
		return bad("first_updater_wins", "needs the snapshot of a transaction; set reads to transaction")
	case p.StaleReads && p.Reads == NoReads:
		return bad("stale_reads", "without reads to verify; leave it out")
	case !slices.Contains([]Certifier{NoCertifier, CycleCheck, SSICertifier}, p.Certifier):
		return bad("certifier", "%q; expected none, cycles or ssi", p.Certifier)
	}
	return nil
}

// ReadProfile reads a profile as JSON. Unknown and repeated fields are errors: a misspelt mechanism would not be
// verified.
func ReadProfile(r io.Reader) (*Profile, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	p := &Profile{Certifier: NoCertifier}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err = d.Decode(p)
	line := 1 + bytes.Count(b[:min(int(d.InputOffset()), len(b))], []byte("\n"))
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("the file is empty; expected a profile as a JSON object")
	case errors.As(err, &kind) && kind.Field != "":
		want := map[reflect.Kind]string{reflect.Bool: "true or false",
			reflect.Slice: "a list of strings"}[kind.Type.Kind()]
		return nil, fmt.Errorf("line %d: field %q: a JSON %s; expected %s", line, kind.Field, kind.Value,
			cmp.Or(want, "a string"))
	case kind != nil:
		return nil, fmt.Errorf("line %d: a JSON %s; expected a profile as a JSON object", line, kind.Value)
	case err != nil:
		return nil, fmt.Errorf("line %d: not a profile: %w", line, err)
	}
	if d.More() {
		return nil, fmt.Errorf("more than one JSON value; expected one profile")
	}
	if err := fields(b); err != nil {
		return nil, err
	}
	if err := p.Validate(); err != nil {
		return nil, err
	}
	return p, nil
}

// fields checks the names of a JSON object of plain values and lists: each occurs once, in the exact spelling, which
// json.Decoder does not require.
func fields(b []byte) error {
	known := make(map[string]bool)
	for f := range reflect.TypeFor[Profile]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		known[name] = true
	}
	d := json.NewDecoder(bytes.NewReader(b))
	seen := make(map[string]bool)
	for depth, name := 0, false; ; {
		t, err := d.Token()
		if err != nil {
			return nil // the end
		}
		switch v := t.(type) {
		case json.Delim:
			if v == '{' || v == '[' {
				depth++
			} else {
				depth--
			}
			name = depth == 1
			continue
		case string:
			if depth == 1 && name {
				if seen[v] {
					return fmt.Errorf("field %q comes twice", v)
				}
				if !known[v] {
					return fmt.Errorf("unknown field %q; names are in lower case", v)
				}
				seen[v] = true
			}
		}
		name = depth == 1 && !name
	}
}

// normal returns a name in the form that is compared.
func normal(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return r == ' ' || r == '-' || r == '_' || r == '\t'
	}), "-")
}

// isolationNames are the short names that databases and people use.
var isolationNames = map[string]string{
	"ser": "serializable", "sr": "serializable", "s2pl": "serializable", "2pl": "serializable",
	"strict-serializable": "serializable", "strict-serializable-(linearizable)": "serializable",
	"ssi": "serializable-snapshot", "si": "snapshot", "snapshot-isolation": "snapshot", "rr": "repeatable-read",
	"rc": "read-committed", "ru": "read-uncommitted",
	// The names that isovet's own drivers use.
	"snapshot-reads-without-conflict-detection": "no-conflict-detection", "watch-and-multi": "watch",
	"reads-compared": "serializable",
}

// LookupProfile finds a built-in profile by database:isolation.
func LookupProfile(name string) (*Profile, error) {
	db, iso, ok := strings.Cut(name, ":")
	if !ok {
		return nil, fmt.Errorf("%q is not a profile; expected database:isolation (isovet profiles lists them), "+
			"auto, or a file", name)
	}
	db, iso = normal(db), normal(iso)
	wanted := []string{iso, isolationNames[iso]}
	if iso == "serializable" {
		wanted = append(wanted, "serializable-snapshot") // where no other level of the database is serializable
	}
	its := func(p Profile) bool {
		is := func(name string) bool { return normal(name) == db }
		return is(p.Database) || slices.ContainsFunc(p.Systems, is)
	}
	for _, want := range wanted {
		for _, p := range Profiles() {
			if want != "" && normal(p.Isolation) == want && its(p) {
				p.Database = db
				return &p, nil
			}
		}
	}
	isos := slice.Map(slice.Filter(Profiles(), its), func(p Profile) string { return p.Isolation })
	if len(isos) > 0 {
		return nil, fmt.Errorf("no profile of %s at %q; expected one of %s", db, iso, strings.Join(isos, ", "))
	}
	return nil, fmt.Errorf("no profile of database %q; isovet profiles lists them", db)
}

// LevelOf returns the level of the isolation in a history's header: as isovet names it, or as the database means it
// ("repeatable read" is a level of its own only in the literature). why names the source; "": no level is named.
func LevelOf(db, isolation string) (l level.Level, why string) {
	l, err := level.Parse(isolation)
	if err == nil && l != level.RepeatableRead {
		return l, fmt.Sprintf("its header names isolation %q", isolation)
	}
	p, unknown := ProfileOf(db, isolation)
	switch {
	case unknown == nil:
		l = p.Level
		if weaker := l.Relaxed(); len(weaker) > 0 { // the plain level
			l = weaker[0]
		}
		return l, fmt.Sprintf("its header names isolation %q of %q", isolation, db)
	case err == nil:
		return l, fmt.Sprintf("its header names isolation %q", isolation)
	}
	return level.Serializable, ""
}

// headerNames are the names that servers call themselves, where these differ from the profile's. The first one that
// occurs counts.
var headerNames = []struct{ word, database string }{
	{"in-memory store", "store"}, {"galera", "galera"}, {"mariadb", "mariadb"}, {"opengauss", "opengauss"},
	{"yugabyte", "yugabytedb"},
	{"cockroach", "cockroachdb"}, {"aurora", "aurora"}, {"polardb", "polardb"}, {"tidb", "tidb"},
	{"oceanbase", "oceanbase"}, {"singlestore", "singlestore"},
	{"postgres", "postgresql"}, {"mysql", "mysql"}, {"innodb", "mysql"}, {"sqlite", "sqlite"}, {"badger", "badger"},
	{"etcd", "etcd"}, {"redis", "redis"},
	{"sql server", "sqlserver"}, {"mssql", "sqlserver"}, {"rocksdb", "rocksdb"}, {"foundationdb", "foundationdb"},
	{"spanner", "spanner"},
	{"oracle", "oracle"}, {"hana", "saphana"}, {"nuodb", "nuodb"}, {"duckdb", "duckdb"}, {"firebird", "firebird"},
}

// ProfileOf finds the profile that a history's header names: its database and its isolation.
func ProfileOf(db, isolation string) (*Profile, error) {
	if db == "" || isolation == "" {
		return nil, fmt.Errorf("the file's header has no %s; name a profile with --profile",
			map[bool]string{true: `"db"`, false: `"isolation"`}[db == ""])
	}
	low, _, _ := strings.Cut(strings.ToLower(db), " (says ") // the products whose clients it serves are not the product
	for _, n := range headerNames {
		if strings.Contains(low, n.word) {
			p, err := LookupProfile(n.database + ":" + isolation)
			if err != nil {
				return nil, fmt.Errorf("the file's header says %q at %q: %w", db, isolation, err)
			}
			return p, nil
		}
	}
	return nil, fmt.Errorf("isovet has no profile of %q, the database in the file's header; name one with --profile",
		db)
}
