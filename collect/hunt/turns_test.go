package hunt

import (
	"fmt"
	"testing"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
)

// waysDB is an SQL database with some ways of sending statements.
type waysDB struct {
	driver.DB
	ways []string
}

func (d waysDB) Info() driver.Info { return driver.Info{Dialect: "postgres"} }
func (d waysDB) Ways() []string    { return d.ways }
func (d waysDB) Send(string) error { return nil }

// TestTurns: in time each workload of a hunt by itself meets each number of keys, each way of sending statements, each
// of these with each, and changes of the schema; a hunt that is told what to do does that.
func TestTurns(t *testing.T) {
	broken := collect.Fault{Kind: collect.Kill, Every: time.Second}
	for _, e := range []struct {
		c             collect.Config
		ways, schemas int
	}{{collect.Config{}, 4, 1}, {collect.Config{Send: "x"}, 1, 1}, {collect.Config{Fault: broken}, 4, 0}} {
		all, err := turns(&e.c, true)
		if err != nil {
			t.Fatal(err)
		}
		vary(all, &e.c, waysDB{ways: []string{"a", "b", "c"}})
		met, schemas := map[string]map[string]bool{}, 0
		for n := range len(all) * 16 {
			one := e.c
			x := next(all, n, &one, time.Second)
			name := LoadName(one.Workload, one.Variant)
			if met[name] == nil {
				met[name] = map[string]bool{}
			}
			met[name][fmt.Sprint(one.Keys, " ", one.Send)] = true
			if one.Fault.Kind == collect.Schema {
				met[name]["schema"] = true
				schemas++
			} else if one.Fault != e.c.Fault {
				t.Errorf("fault %v; expected %v", one.Fault, e.c.Fault)
			}
			if want := len(x.sizes)*e.ways + e.schemas; n >= len(all)*15 && len(met[name]) != want {
				t.Errorf("%+v: %s met %d of %d: %v", e.c.Fault, name, len(met[name]), want, met[name])
			}
		}
		if n := len(all) * 16; len(met) != len(huntLoads) || e.schemas > 0 && (schemas < n/4 || schemas > n/2) {
			t.Errorf("%d workloads, the schema changed beside %d of %d rounds", len(met), schemas, n)
		}
	}
}
