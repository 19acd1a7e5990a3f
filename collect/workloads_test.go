package collect_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"isovet/collect"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
	"isovet/level"
)

// alone runs a workload's first client by itself on a map and returns what it does: a line an attempt at a transaction.
func alone(w workload.Workload, seed uint64, txns int) []string {
	type row struct {
		payload int64
		wide    []int64
		there   bool
	}
	tables := w.Tables()
	rows := map[workload.Key]row{}
	get := func(k workload.Key) row {
		r, ok := rows[k]
		if t := &tables[k.Table()]; !ok && k.PK() < int64(t.Rows) {
			r = row{payload: t.Payload, there: true}
			if t.PayloadOf != nil {
				r.payload = t.PayloadOf(k.PK())
			}
			if t.WideOf != nil {
				r = row{wide: t.WideOf(k.PK()), there: true}
			}
		}
		return r
	}
	c := w.Client(0, rand.New(rand.NewPCG(seed, 0)))
	var x workload.Txn
	var out []string
	for done := 0; done < txns; {
		c.Next(&x)
		x.Reset()
		before := map[workload.Key]row{}
		line := x.Name
		for {
			n := len(x.Ops)
			c.Step(&x)
			if len(x.Ops) == n {
				break
			}
			x.Stage++
			for i := n; i < len(x.Ops); i++ {
				op := &x.Ops[i]
				r := get(op.Key)
				name := ""
				if tables[op.Key.Table()].Name != "" {
					name = tables[op.Key.Table()].Name + "/"
				}
				line += fmt.Sprintf(" %d %s%d", min(op.Kind, workload.Write), name, op.Key.PK())
				if op.Kind == workload.Read {
					op.Payload, op.Row, op.Absent = r.payload, slices.Clone(r.wide), !r.there
					continue
				}
				if _, ok := before[op.Key]; !ok {
					before[op.Key] = r
				}
				rows[op.Key] = row{op.Payload, slices.Clone(op.Row), op.Kind == workload.Write}
			}
		}
		out = append(out, line)
		if !x.Rollback {
			done++
			continue
		}
		for k, r := range before {
			rows[k] = r
		}
	}
	return out
}

// recorded is the same of a history of one session.
func recorded(h *history.History) []string {
	var out []string
	for _, t := range h.SessTxn {
		if t == h.Init {
			continue
		}
		line := string(h.Texts.Text(h.Txns.Name[t]))
		for op := h.Txns.OpOff[t]; op < h.Txns.OpOff[t+1]; op++ {
			kind := workload.Read
			if h.Ops.Kind[op] == history.Write {
				kind = workload.Write
			}
			line += fmt.Sprintf(" %d %s", kind, strings.Trim(h.KeyString(h.OpKey(op)), `"`))
		}
		out = append(out, line)
	}
	return out
}

// TestWorkloadsAlone: without others beside it a session does on a database what it does on a map, so what it was told
// of its rows, loaded or written, is right: TPC-C's orders have their lines, Twitter's lists their names.
func TestWorkloadsAlone(t *testing.T) {
	workloadsAlone(t, []string{"sqlite:", "badger:"})
}

// TestWorkloadsAloneOnServers is the same on servers.
func TestWorkloadsAloneOnServers(t *testing.T) {
	needServers(t)
	workloadsAlone(t, []string{"postgres:start", "mariadb:start", "redis:start", "etcd:start"})
}

// TestConditionsAlone: the conditions that one session is told hold for what it does, one after the other.
func TestConditionsAlone(t *testing.T) {
	for _, w := range []string{"claim", "rows"} {
		in := must.Get(workload.Lookup(w))(t)
		for _, v := range in.Variants {
			c := collect.Config{DB: []string{"sqlite:"}, Workload: w, Variant: v.Name, Txns: 80, Sessions: 1}
			verdict(t, run(t, c).History, level.Serializable, holds)
		}
	}
}

func workloadsAlone(t *testing.T, dbs []string) {
	seed, txns := uint64(5), histtest.Long(30, 60)
	for _, db := range dbs {
		d := open(t, collect.Config{DB: []string{db}})
		for _, in := range workload.All() {
			for _, v := range in.Variants {
				keys := 0
				if in.Name == "tpcc" {
					keys = 30
				}
				w, _, err := in.New(workload.Params{Variant: v.Name, Keys: keys, Sessions: 1})
				must.OK(t, err)
				other := func(t workload.Table) bool { return t.Columns != nil || t.List }
				if v.SQL || slices.ContainsFunc(w.Tables(), other) {
					continue // the tests of predicates, lists and savepoints are others
				}
				r, err := d.Collect(t.Context(), collect.Config{DB: []string{db}, Workload: in.Name, Variant: v.Name,
					Keys: keys, Txns: txns, Sessions: 1, Seed: seed})
				must.OK(t, err, "%s, %s %s", db, in.Name, v.Name)
				got, want := recorded(r.History), alone(w, seed, txns)
				if !slices.Equal(got, want) {
					i := 0
					for i < min(len(got), len(want))-1 && got[i] == want[i] {
						i++
					}
					t.Errorf("%s, %s %s: %d transactions, expected %d; number %d is\n%s\nexpected\n%s", db, in.Name,
						v.Name, len(got), len(want), i, got[i], want[i])
				}
			}
		}
	}
}
