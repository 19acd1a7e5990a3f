package driver

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"isovet/internal/pattern"
)

// Scheme is a kind of database.
type Scheme struct {
	Name  string   // of the driver
	URLs  []string // schemes of its URLs, the usual one first
	About string
	// Isolations are the names of its levels, the default first. Further names of a level follow after "=".
	Isolations []string
	// Embedded says that the database runs inside this program.
	Embedded bool
	// SQL says that its sessions implement Speaker.
	SQL bool
	// Timestamps says that it takes Options.Timestamps.
	Timestamps bool
	// Promises are the statements of the documentation about the isolation levels, for each database of the driver.
	Promises []Promise
	// Broken and Code are the implementations of the functions Broken and Code for this database; either may be nil.
	Broken func(error) bool
	Code   func(error) string
	open   func(ctx context.Context, urls []string, isolation string, o Options) (DB, error)
}

// registered has the drivers. Each registers itself in an init function. A program may register its own at any time.
var (
	registering sync.Mutex
	registered  []Scheme
)

// All returns every driver, by name.
func All() []Scheme {
	registering.Lock()
	defer registering.Unlock()
	return all()
}

// all is All for a caller that holds the lock.
func all() []Scheme {
	byName := func(a, b Scheme) int { return strings.Compare(a.Name, b.Name) }
	return slices.SortedFunc(slices.Values(registered), byName)
}

// Register adds a database. It may be called at any time by any goroutine.
func Register(s Scheme, open func(ctx context.Context, urls []string, isolation string, o Options) (DB, error)) {
	s.open = open
	s.tabled()
	register(s)
}

// schemes.tsv has isovet's own databases: the fields of a Scheme, with the names of those that are true, and remarks on
// isolations.
//
//go:embed schemes.tsv
var schemesTSV string

// tabled sets what schemes.tsv has of a driver, and its promises.
func (s *Scheme) tabled() {
	for row := range strings.Lines(schemesTSV) {
		if c := strings.Split(row, "\t"); c[0] == s.Name {
			s.URLs, s.Isolations, s.About = strings.Fields(c[1]), strings.Fields(c[2]), c[4]
			is := strings.Fields(c[3])
			s.SQL, s.Embedded = slices.Contains(is, "sql"), slices.Contains(is, "embedded")
			s.Timestamps, s.Promises = slices.Contains(is, "timestamps"), promisesOf(s.Name)
		}
	}
}

// register adds a scheme. It panics if the name or a URL is registered already.
func register(s Scheme) {
	if s.Name == "" || len(s.URLs) == 0 || len(s.Isolations) == 0 || s.open == nil {
		panic(fmt.Sprintf("driver: database %q lacks a name, a scheme of URLs, an isolation or what opens it", s.Name))
	}
	registering.Lock()
	defer registering.Unlock()
	for _, u := range s.URLs {
		if have, err := lookup(all(), u+":"); err == nil {
			panic(fmt.Sprintf("driver: the scheme %s is that of %s already", u, have.Name))
		}
	}
	registered = append(registered, s)
}

// Broken reports whether the database refused a user's statement because of the data: a constraint, a value outside its
// type's range, an error raised by a trigger. The transaction must be rolled back. Trying it again would fail again.
func Broken(err error) bool {
	return slices.ContainsFunc(All(), func(s Scheme) bool { return s.Broken != nil && s.Broken(err) })
}

// Code returns the database's code for an error: SQLSTATE for PostgreSQL's protocol, MySQL's number, SQLite's extended
// code, etcd's code, or "" if there is none.
func Code(err error) string {
	for _, s := range All() {
		if s.Code == nil {
			continue
		}
		if code := s.Code(err); code != "" {
			return code
		}
	}
	var state interface{ SQLState() string } // pgconn and other libraries have it
	if errors.As(err, &state) {
		return state.SQLState()
	}
	return ""
}

// Lookup finds the driver of a URL.
func Lookup(db string) (Scheme, error) { return lookup(All(), db) }

func lookup(schemes []Scheme, db string) (Scheme, error) {
	name, _, ok := strings.Cut(db, ":")
	var names []string
	for _, s := range schemes {
		if ok && slices.Contains(s.URLs, strings.ToLower(name)) {
			return s, nil
		}
		names = append(names, s.URLs...)
	}
	return Scheme{}, fmt.Errorf("database %q: unknown kind; expected a URL whose scheme is one of %s", Redact(db),
		strings.Join(names, ", "))
}

// Open opens a database: one URL, or one for each node of a cluster. Errors contain no passwords.
func Open(ctx context.Context, urls []string, o Options) (DB, error) {
	if len(urls) == 0 {
		return nil, errors.New("no database is named")
	}
	o.Timeout = cmp.Or(o.Timeout, 10*time.Second)
	s, err := Lookup(urls[0])
	if err != nil {
		return nil, err
	}
	for _, u := range urls[1:] {
		t, err := Lookup(u)
		if err != nil {
			return nil, err
		}
		if t.Name != s.Name {
			return nil, fmt.Errorf("%s and %s: the nodes of a cluster are databases of one kind", Redact(urls[0]),
				Redact(u))
		}
	}
	if s.Embedded && len(urls) > 1 {
		return nil, fmt.Errorf("%s runs inside this program and has no nodes; expected one URL", s.Name)
	}
	if o.Nodes == nil {
		for _, u := range urls {
			o.Nodes = append(o.Nodes, host(u))
		}
	}
	iso, err := isolation(s, o.Isolation)
	if err != nil {
		return nil, err
	}
	if !s.SQL && len(o.SetupSQL)+len(o.SessionSQL) > 0 {
		return nil, Unsupported("%s takes no SQL; expected a database such as PostgreSQL, MariaDB or SQLite", s.Name)
	}
	if !s.Timestamps && o.Timestamps {
		return nil, Unsupported("%s does not report its timestamps; expected PostgreSQL, Badger or etcd with "+
			"--timestamps", s.Name)
	}
	db, err := s.open(ctx, urls, iso, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Redact(urls[0]), clean(err, urls))
	}
	return db, nil
}

// IsolationName returns a database's first name for an isolation level. want "" means the default.
func IsolationName(db, want string) (string, error) {
	s, err := Lookup(db)
	if err != nil {
		return "", err
	}
	return isolation(s, want)
}

// isolation finds a level by name among those of a driver. Each entry is "name=other=other".
func isolation(s Scheme, want string) (string, error) {
	var names []string
	for i, entry := range s.Isolations {
		all := strings.Split(entry, "=")
		if want == "" && i == 0 || slices.ContainsFunc(all, func(n string) bool { return n == normal(want) }) {
			return all[0], nil
		}
		names = append(names, all[0])
	}
	return "", Unsupported("%s has no isolation %q; expected one of %s", s.Name, want, strings.Join(names, ", "))
}

// normal returns a normal form of a level's name.
func normal(s string) string {
	return strings.ToLower(strings.NewReplacer(" ", "-", "_", "-").Replace(strings.TrimSpace(s)))
}

// host returns the part of a URL that names the node.
func host(db string) string {
	if u, err := url.Parse(db); err == nil && u.Host != "" {
		return u.Host
	}
	name, _, _ := strings.Cut(db, ":")
	return name
}

var (
	userinfo = pattern.Lazy(`://[^/?#]*@`)
	// inText matches a user and password within a text. The @ may be far from the scheme.
	inText = pattern.Lazy(`://[^/?#@\s"'` + "`" + `]*@`)
	secret = pattern.Lazy(`(?i)([?&;\s](?:[a-z_]*(?:password|passwd|pwd|secret|token)[a-z_]*)=)[^&;\s]*`)
)

// Redact removes user and password from a URL.
func Redact(db string) string {
	return secret().ReplaceAllString(userinfo().ReplaceAllString(db, "://…@"), "${1}…")
}

// redacted is an error without passwords in its text.
type redacted struct {
	error
	text string
}

func (r redacted) Error() string { return r.text }
func (r redacted) Unwrap() error { return r.error }

// clean removes the URLs' passwords from an error of a library or server: in a URL, in user and password before an @,
// and in a parameter. In other places it leaves passwords that are plain words, since "sa" or "root" may be part of
// other words.
func clean(err error, urls []string) error {
	text := err.Error()
	for _, s := range urls {
		text = strings.ReplaceAll(text, s, Redact(s))
		u, e := url.Parse(s)
		if e != nil {
			// The fault may be inside a password, and the library then quotes a part of it.
			if strings.Contains(s, "@") && strings.Contains(text, "parse") {
				return redacted{err, "the URL cannot be parsed; expected scheme://user:password@host:port/database; " +
					"in user and password, write characters other than letters and digits as %XX"}
			}
			if _, rest, ok := strings.Cut(s, "://"); ok {
				text = strings.ReplaceAll(text, rest[:strings.LastIndex(rest, "@")+1], "")
			}
			continue
		}
		passwords := []string{}
		if p, ok := u.User.Password(); ok && p != "" {
			text = strings.ReplaceAll(text, u.User.String()+"@", "…@")
			text = strings.ReplaceAll(text, u.User.Username()+":"+p+"@", "…@")
			passwords = append(passwords, p)
		}
		for name, values := range u.Query() {
			if secretName().MatchString(name) {
				passwords = append(passwords, values...)
			}
		}
		for _, p := range passwords {
			if !plainWord().MatchString(p) {
				text = strings.ReplaceAll(text, p, "…")
			}
		}
	}
	if text = secret().ReplaceAllString(inText().ReplaceAllString(text, "://…@"), "${1}…"); text == err.Error() {
		return err
	}
	return redacted{err, text}
}

var (
	secretName = pattern.Lazy(`(?i)password|passwd|pwd|secret|token`)
	// plainWord matches texts that may be in a message by chance: a word, a number, a short name.
	plainWord = pattern.Lazy(`^(?:[a-z_]*|[A-Z_]*|[A-Z][a-z]*|[0-9]*|.{0,4})$`)
)
