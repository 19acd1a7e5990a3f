package hunt

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"isovet/collect"
	"isovet/collect/driver"
	"isovet/datasets/workload"
)

// huntLoads are the workloads between which a hunt alternates if none is named. Those that find most come first: lost
// updates, write skew, lost updates of equal values, phantoms, and random statements by secondary indexes. Others take
// further paths through a database: updates by an index in one statement, insert if absent, foreign keys, savepoints,
// single statements without BEGIN.
var huntLoads = []struct{ workload, variant string }{{"rmw", ""}, {"smallbank", ""}, {"counters", ""},
	{"claim", "fresh"}, {"rows", ""}, {"booking", ""}, {"rows", "direct"}, {"longfork", ""}, {"list-append", ""},
	{"references", ""}, {"mix", ""}, {"rows", "locking"}, {"claim", "insert"}, {"rows", "savepoints"},
	{"rows", "autocommit"}, {"rmw", "autocommit"}}

// Loads returns the names of huntLoads.
func Loads() (names []string) {
	for _, l := range huntLoads {
		names = append(names, LoadName(l.workload, l.variant))
	}
	return names
}

func LoadName(workload, variant string) string {
	if variant != "" {
		return workload + "/" + variant
	}
	return workload
}

// turn is a workload of a hunt, with the numbers of keys between which its rounds alternate.
type turn struct {
	workload, variant string
	sizes             []int
	rounds            int
	ways              []string // of sending statements; "" is the URL's
	place             int      // among the turns
	schema            bool     // some rounds change the schema meanwhile
}

// turns returns a hunt's workloads: the named one, or those of huntLoads that can have c's number of keys. sql says
// that the database has SQL, which has other defaults.
func turns(c *collect.Config, sql bool) (all []*turn, err error) {
	if c.Custom != nil || c.Own != nil {
		return []*turn{{workload: c.Workload, variant: c.Variant, sizes: []int{c.Keys}}}, nil
	}
	if c.Workload != "" {
		t := &turn{workload: c.Workload, variant: c.Variant}
		t.sizes, err = contended(c, t, sql)
		return []*turn{t}, err
	}
	if c.Variant != "" || c.Ops != 0 || c.Values != 0 {
		return nil, errors.New("--variant, --ops or --values without --workload; expected the workload too")
	}
	for _, l := range huntLoads {
		t := &turn{workload: l.workload, variant: l.variant}
		sizes, one := contended(c, t, sql)
		if one != nil {
			err = errors.Join(err, one)
			continue
		}
		t.sizes = sizes
		all = append(all, t)
	}
	if len(all) > 0 {
		err = nil
	}
	return all, err
}

// vary makes the turns use the database's other ways of sending statements, and change the schema in every third
// round, except where the user has set these.
func vary(all []*turn, c *collect.Config, db driver.DB) {
	ways := []string{c.Send}
	if s, ok := db.(driver.Sender); ok && c.Send == "" {
		ways = append(ways, s.Ways()...)
	}
	schema := c.Fault.Kind == collect.NoFault && driver.SchemaChanges(db.Info().Dialect, driver.Data{}) != nil
	for i, t := range all {
		t.ways, t.place, t.schema = ways, i, schema
	}
}

// next returns the turn for round n. It sets the number of keys, the way of sending statements and the fault so that
// in time all combinations occur.
func next(all []*turn, n int, c *collect.Config, longest time.Duration) *turn {
	t := all[n%len(all)]
	k := t.rounds
	t.rounds++
	c.Workload, c.Variant, c.Keys = t.workload, t.variant, t.sizes[k%len(t.sizes)]
	if len(t.ways) > 0 {
		c.Send = t.ways[(k%len(t.sizes)+k/len(t.sizes))%len(t.ways)]
	}
	if t.schema && (k+t.place)%3 == 2 {
		c.Fault = collect.Fault{Kind: collect.Schema, Every: min(max((longest/4).Round(100*time.Millisecond),
			100*time.Millisecond), time.Second)}
	}
	return t
}

// longest bounds the time of a round, so that every workload gets rounds with few keys and with more before the time
// is up.
func longest(all []*turn, whole, left time.Duration) time.Duration {
	if len(all) == 1 {
		return left
	}
	return min(left, max(whole/time.Duration(2*len(all)), 100*time.Millisecond))
}

// unfit removes a turn whose workload the database cannot run. It returns false if no turn would be left.
func unfit(all []*turn, t *turn, err error) ([]*turn, bool) {
	if !errors.Is(err, driver.ErrUnsupported) || len(all) == 1 {
		return all, false
	}
	return slices.DeleteFunc(all, func(x *turn) bool { return x == t }), true
}

// contended returns the numbers of keys between which rounds alternate. The first is small, since violations need
// collisions.
func contended(c *collect.Config, t *turn, sql bool) ([]int, error) {
	info, err := workload.Lookup(t.workload)
	if err != nil {
		return nil, err
	}
	p := workload.Params{Variant: t.variant, Ops: c.Ops, Keys: c.Keys, Values: c.Values, Database: sql,
		Sessions: c.WithDefaults().Sessions}
	_, own, err := info.New(p)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", LoadName(t.workload, t.variant), err)
	}
	var sizes []int
	for _, n := range []int{20, 8, 100} {
		p.Keys = n
		if _, _, err := info.New(p); c.Keys == 0 && err == nil && n < own.Keys {
			sizes = append(sizes, n)
		}
	}
	return append(sizes, own.Keys), nil
}
