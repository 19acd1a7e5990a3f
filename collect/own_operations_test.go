package collect_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"isovet/check/workloads"
	"isovet/collect"
	"isovet/collect/driver"
	"isovet/collect/sqlwork"
	"isovet/evidence"
	"isovet/history/operations"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// forgetful is a database that gives no answer to every tenth commit of a session. Half of these have taken effect.
type forgetful struct{ driver.DB }

type forgetfulSession struct {
	driver.Session
	driver.Speaker
	n *int
}

func (d forgetful) Connect(ctx context.Context, node int) (driver.Session, error) {
	s, err := d.DB.Connect(ctx, node)
	speaker, _ := s.(driver.Speaker)
	return forgetfulSession{s, speaker, new(int)}, err
}

func (d forgetful) Classify(err error) driver.Class {
	if errors.Is(err, io.EOF) {
		return driver.Lost
	}
	return d.DB.Classify(err)
}

func (s forgetfulSession) Commit() error {
	switch *s.n++; *s.n % 20 {
	case 9:
		return errors.Join(s.Rollback(), io.EOF)
	case 19:
		return errors.Join(s.Session.Commit(), io.EOF)
	}
	return s.Session.Commit()
}

// TestJepsens: what one client and eight see of Jepsen's workloads is valid, although some commits have no answer.
func TestJepsens(t *testing.T) {
	c := collect.Config{DB: []string{"sqlite:"}}
	d := open(t, c)
	d.DB = forgetful{d.DB}
	jepsens(t, d, c)
}

// TestJepsensOnServers is the same on servers that are killed. A transfer that reads first makes or loses money at read
// committed.
func TestJepsensOnServers(t *testing.T) {
	needServers(t)
	for _, db := range []string{"postgres:start", "mariadb:start"} {
		c := collect.Config{DB: []string{db}, Isolation: "serializable", Fault: collect.Fault{Kind: collect.Kill,
			Every: time.Second}}
		jepsens(t, open(t, c), c)
		c = collect.Config{DB: []string{db}, Isolation: "read-committed", Sessions: 8}
		for d := open(t, c); operate(t, d, c, "bank/read-modify-write", "bank") != evidence.Violated; c.Seed++ {
			must.Equal(t, c.Seed < 20, true, "%s at read committed", db)
		}
	}
}

func jepsens(t *testing.T, d *collect.Target, c collect.Config) {
	for name, rule := range map[string]string{"bank": "bank", "bank/negative": "bank:negative=yes",
		"bank/read-modify-write": "bank", "counter": "counter", "counter/read-modify-write": "counter",
		"queue": "total-queue", "set": "set"} {
		for _, c.Sessions = range []int{1, 8} {
			must.Equal(t, operate(t, d, c, name, rule), evidence.Holds, "%s in %d sessions", name, c.Sessions)
		}
	}
}

// operate runs one of Jepsen's workloads, and judges what its clients saw.
func operate(t *testing.T, d *collect.Target, c collect.Config, name, rule string) evidence.Verdict {
	name, c.Variant, _ = strings.Cut(name, "/")
	c.Own, c.Txns = must.Get(sqlwork.OfJepsen(name))(t), histtest.Long(200, 400)
	c.Partial = filepath.Join(t.TempDir(), "h")
	h := must.Get(operations.Read(must.Get(d.Collect(t.Context(), c))(t).Operations, "h"))(t)
	w, settings, err := workloads.Lookup(rule)
	must.OK(t, err)
	a := must.Get(w.Check(t.Context(), h, workloads.Options{Settings: settings}))(t)
	t.Logf("%v %s: %v %s %v", c.DB, rule, a.Verdict, a.Reason, a.Counts)
	return a.Verdict
}
