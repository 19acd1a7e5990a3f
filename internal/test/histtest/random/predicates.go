package random

import (
	"fmt"
	"slices"
	"strings"

	"isovet/history"
)

// randomRows are the rows of a random history: a value of kind Row has in N the index of its text and columns.
type randomRows struct {
	text []string
	cols []map[string]randomCell
}

// randomCell is what a column holds: an integer, null, or a string, which no integer compares with.
type randomCell struct {
	kind history.ValueKind
	n    int
}

// intern returns the value of a row.
func (r *randomRows) intern(cols map[string]randomCell) history.Value {
	var parts []string
	for _, c := range []string{"u", "v", "w"} {
		switch x, ok := cols[c]; {
		case !ok:
		case x.kind == history.Int:
			parts = append(parts, fmt.Sprintf(`"%s":%d`, c, x.n))
		case x.kind == history.String:
			parts = append(parts, fmt.Sprintf(`"%s":"%d"`, c, x.n))
		default:
			parts = append(parts, fmt.Sprintf(`"%s":null`, c))
		}
	}
	text := "{" + strings.Join(parts, ",") + "}"
	i := slices.Index(r.text, text)
	if i < 0 {
		i = len(r.text)
		r.text, r.cols = append(r.text, text), append(r.cols, cols)
	}
	return history.Value{Kind: history.Row, N: int64(i)}
}

// row draws a row, unique by column u unless there may be duplicates.
func (g *randomRun) row() history.Value {
	cols := map[string]randomCell{}
	if !g.o.Duplicates {
		cols["u"] = randomCell{history.Int, int(g.next)}
	}
	for _, c := range []string{"v", "w"} {
		x := randomCell{history.Int, g.rng.IntN(4)}
		switch g.rng.IntN(24) {
		case 0:
			continue
		case 1:
			x = randomCell{}
		case 2:
			x.kind = history.String
		}
		cols[c] = x
	}
	return g.rows.intern(cols)
}

// first draws what a key holds at first, where keys hold something: the same everywhere unless an initial transaction
// says so.
func (g *randomRun) first(k int) history.Value {
	switch {
	case g.loaded && g.o.Predicates && g.rng.IntN(4) == 0:
		return history.Value{}
	case g.rows == nil:
		return history.IntValue(0)
	case g.loaded:
		return g.row()
	}
	return g.rows.intern(map[string]randomCell{"v": {history.Int, 1}, "w": {history.Int, 1}})
}

// randomPred is a predicate read or write. What depends on chance is drawn beforehand, so that it does the same
// whenever it runs.
type randomPred struct {
	cond  randomCond
	write bool
	lax   []bool          // key → the database matches it where the truth is unknown
	after []history.Value // key → what a write installs
	blind []bool          // key → the client does not know which version a write replaced
	rows  []randomRow     // the result
}

type randomRow struct {
	key           int
	before, after history.Value
	hidden        bool // before is not known
}

// randomCond is a condition: a comparison of a column with integers, or one of parts.
type randomCond struct {
	op     string // "and", "or", "not", "in", or a comparison
	parts  []randomCond
	column string
	n      []int
}

func (c *randomCond) json() string {
	var parts []string
	for i := range c.parts {
		parts = append(parts, c.parts[i].json())
	}
	switch list := strings.Join(parts, ","); c.op {
	case "and", "or":
		return fmt.Sprintf(`{"%s":[%s]}`, c.op, list)
	case "not":
		return fmt.Sprintf(`{"not":%s}`, list)
	case "in":
		return fmt.Sprintf(`{"%s":{"in":%s}}`, c.column, strings.ReplaceAll(fmt.Sprint(c.n), " ", ","))
	}
	return fmt.Sprintf(`{"%s":{"%s":%d}}`, c.column, c.op, c.n[0])
}

// holds is the condition's truth of a row: 1 true, 0 unknown, -1 false.
func (c *randomCond) holds(g *randomRun, v history.Value) int {
	switch c.op {
	case "and", "or", "not":
		var of []int
		for i := range c.parts {
			of = append(of, c.parts[i].holds(g, v))
		}
		switch c.op {
		case "and":
			return slices.Min(of)
		case "or":
			return slices.Max(of)
		}
		return -of[0]
	}
	x, ok := randomCell{history.Int, int(v.N)}, c.column == ""
	if v.Kind == history.Row {
		x, ok = g.rows.cols[v.N][c.column]
	}
	if !ok || x.kind == history.Null {
		return 0
	}
	yes := x.kind == history.Int
	switch c.op {
	case "in":
		yes = yes && slices.Contains(c.n, x.n)
	case "=":
		yes = yes && x.n == c.n[0]
	case "!=":
		yes = yes && x.n != c.n[0]
	case "<":
		yes = yes && x.n < c.n[0]
	case "<=":
		yes = yes && x.n <= c.n[0]
	case ">":
		yes = yes && x.n > c.n[0]
	case ">=":
		yes = yes && x.n >= c.n[0]
	}
	if yes {
		return 1
	}
	return -1
}

// predicate draws a predicate operation.
func (g *randomRun) predicate(write bool) *randomPred {
	p := &randomPred{cond: g.condition(2), write: write}
	for k := range g.keys {
		p.lax = append(p.lax, g.rng.IntN(4) == 0)
		p.blind = append(p.blind, g.rng.IntN(3) == 0)
		if write {
			p.after = append(p.after, g.value(k))
		}
	}
	return p
}

func (g *randomRun) condition(depth int) randomCond {
	column, bound := "", int(g.next)+2
	if g.rows != nil {
		column, bound = []string{"v", "w"}[g.rng.IntN(2)], 4
	}
	compare := func(ops ...string) randomCond {
		return randomCond{op: ops[g.rng.IntN(len(ops))], column: column, n: []int{g.rng.IntN(bound)}}
	}
	switch n := g.rng.IntN(12); {
	case n < 4:
		return compare("<", "<=", ">", ">=")
	case n < 6:
		a, b := compare(">", ">="), compare("<", "<=")
		return randomCond{op: "and", parts: []randomCond{a, b}}
	case n == 6:
		return compare("!=")
	case n == 7:
		return randomCond{op: "in", column: column, n: []int{g.rng.IntN(bound), g.rng.IntN(bound)}}
	case n < 11 && depth > 0:
		parts := []randomCond{g.condition(depth - 1), g.condition(depth - 1)}
		switch n {
		case 8:
			return randomCond{op: "and", parts: parts}
		case 9:
			return randomCond{op: "or", parts: parts}
		}
		return randomCond{op: "not", parts: parts[:1]}
	}
	return compare("=")
}

// match makes the result of a predicate operation on a state.
func (g *randomRun) match(p *randomPred, state []history.Value) {
	p.rows = p.rows[:0]
	for k, v := range state {
		if v.Kind == history.Null {
			continue
		}
		if t := p.cond.holds(g, v); t > 0 || t == 0 && p.lax[k] {
			g.add(p, k, v)
		}
	}
}

// add puts a row to the result.
func (g *randomRun) add(p *randomPred, k int, v history.Value) {
	r := randomRow{key: k, before: v}
	if p.write {
		r.after, r.hidden = p.after[k], p.blind[k]
		if !slices.Contains(g.seen[k], r.after) {
			g.note(k, r.after)
		}
	}
	p.rows = append(p.rows, r)
}

// matchAnything makes the result of a predicate operation on some version of each key, the one in own where there is
// one.
func (g *randomRun) matchAnything(p *randomPred, own map[int]history.Value) {
	state := make([]history.Value, g.keys)
	for k := range state {
		v, ok := own[k]
		if !ok || g.rng.IntN(8) == 0 {
			v = g.seen[k][g.rng.IntN(len(g.seen[k]))]
		}
		state[k], own[k] = v, v
	}
	g.match(p, state)
	for _, r := range p.rows {
		if p.write {
			own[r.key] = r.after
		}
	}
}

// perturbRows changes a result: a row less, a row more, or another version; it reports whether it did.
func (g *randomRun) perturbRows(p *randomPred) bool {
	if n := len(p.rows); n > 0 && g.rng.IntN(2) == 0 {
		i := g.rng.IntN(n)
		r := &p.rows[i]
		v := g.seen[r.key][g.rng.IntN(len(g.seen[r.key]))]
		if g.rng.IntN(2) == 0 || r.hidden || v == r.before || v.Kind == history.Null {
			p.rows = slices.Delete(p.rows, i, i+1)
		} else {
			r.before = v
		}
		return true
	}
	k := g.rng.IntN(g.keys)
	v := g.seen[k][g.rng.IntN(len(g.seen[k]))]
	if v.Kind == history.Null || slices.ContainsFunc(p.rows, func(r randomRow) bool { return r.key == k }) {
		return false
	}
	g.add(p, k, v)
	return true
}

// writes are the keys that a transaction writes, with what its predicate writes matched when it last ran.
func (t *randomTxn) writes(keys int) []bool {
	w := make([]bool, keys)
	for i := range t.ops {
		op := &t.ops[i]
		switch {
		case op.pred == nil && op.write:
			w[op.key] = true
		case op.pred != nil && op.pred.write:
			for _, r := range op.pred.rows {
				w[r.key] = true
			}
		}
	}
	return w
}
