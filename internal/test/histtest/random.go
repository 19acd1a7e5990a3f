package histtest

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Kind is what the operations of a random history are made of.
type Kind uint8

const (
	Registers  Kind = iota
	Lists           // of which some keys may be registers
	Predicates      // reads and writes of rows or scalars by a condition, beside those by key
	Single          // one key a transaction, as lightweight transactions have
	Mini            // every write after a read of its key
	numKinds
	// Mixed has what meets seldom, and is drawn only where it is asked for: lists beside registers whose values are
	// written again and again, outcomes unknown; rows of two columns, and rows that a predicate read shows twice; and
	// lists beside predicates.
	Mixed
)

// Shape bounds a random history. The zero value of each is its default.
type Shape struct {
	Txns  int    // at most; 5
	Keys  int    // at most; 3
	Ops   int    // of a transaction, at most; 4
	Kinds []Kind // to choose from; all
}

// run is a random history while it is made.
type run struct {
	*rand.Rand
	kind       Kind
	keys       int
	list       []bool
	dup, null  bool // values written twice, deletes
	rows       bool // values are rows
	columns    bool // of two columns
	preds      bool // there are predicate operations
	again      bool // and they may show a row twice
	strings    bool // or strings and truths
	noise      int  // a read in so many is wrong; 0: none
	next       int64
	initial    string
	states     []state
	written    [][]string
	opTimes    bool
	clock      int64
	predBefore bool // a predicate write names what it replaced
	aborts     int  // a transaction in so many aborts
	unknowns   int  // and one in so many has no known outcome
}

// state is what each key holds: a register's value as text, a list's elements.
type state struct {
	reg  []string
	list [][]string
}

func (s state) clone() state {
	c := state{reg: slices.Clone(s.reg), list: make([][]string, len(s.list))}
	for i, l := range s.list {
		c.list[i] = slices.Clip(slices.Clone(l))
	}
	return c
}

// txn is a transaction while it is made.
type txn struct {
	session, place              int64
	status                      string
	init                        bool
	start, commit, end          int64 // logical, as are the others
	startTS, commitTS           int64
	hasStart, hasCommit, hasEnd bool
	hasStartTS, hasTS, hasID    bool
	id                          int64
	ops                         []string
}

// one reports true once in n times.
func (r *run) one(n int) bool { return r.IntN(n) == 0 }

// Random makes the text of a small history from a seed. It is executed on a store of many versions, whose snapshots,
// conflicts and real time it mostly respects, and then disturbed, so that about half of the histories hold at a given
// level. What the format leaves open is drawn too: missing ids, sessions and times, transactions without operations,
// sessions that the file has out of order, times at both ends of the 64 bits and as far apart. What the test is to do
// with it stands in the header, in fields that readers pass over: "clock_skew", "read_only_at_start", and "turn", a
// number by which a test chooses among its variants.
func Random(seed uint64, s Shape) []byte {
	r := &run{Rand: rand.New(rand.NewPCG(seed, 0x1507))}
	if s.Txns == 0 {
		s.Txns = 5
	}
	if s.Keys == 0 {
		s.Keys = 3
	}
	if s.Ops == 0 {
		s.Ops = 4
	}
	if len(s.Kinds) == 0 {
		for k := range numKinds {
			s.Kinds = append(s.Kinds, k)
		}
	}
	r.kind = s.Kinds[r.IntN(len(s.Kinds))]
	r.keys = 1 + r.IntN(s.Keys)
	r.list = make([]bool, r.keys)
	some := r.one(3)
	for k := range r.list {
		r.list[k] = r.kind == Lists && (!some || r.one(2))
	}
	r.dup, r.null = r.one(4), r.one(4)
	r.preds = r.kind == Predicates
	if r.kind == Mixed {
		r.mix()
	}
	r.rows = r.preds && r.one(2)
	r.strings = r.one(12)
	r.noise = []int{0, 0, 3, 6, 12}[r.IntN(5)]
	r.opTimes = r.one(6)
	r.predBefore = !r.one(3)
	r.aborts, r.unknowns = []int{14, 14, 4}[r.IntN(3)], []int{7, 7, 1 << 30, 2}[r.IntN(4)]
	if r.kind == Mixed && r.one(2) {
		r.unknowns = 2
	}
	r.initial = "null"
	header := `"format":"isovet-history","version":1`
	hasHeader := r.one(2)
	if hasHeader && r.one(2) {
		r.initial = r.value(0)
		header += `,"initial":` + r.initial
	}
	r.written = make([][]string, r.keys)
	first := state{reg: make([]string, r.keys), list: make([][]string, r.keys)}
	for k := range first.reg {
		first.reg[k] = r.initial
		r.written[k] = []string{r.initial}
	}
	r.states = []state{first}
	var txns []txn
	if r.one(4) {
		txns = append(txns, r.load(&first))
		r.states[0] = first
	}
	n := r.IntN(s.Txns + 1)
	if n == 0 && !r.one(10) {
		n = 1
	}
	sessions := 1 + r.IntN(n+1)
	snapshots, overlap := r.one(2), r.one(2)
	for range n {
		txns = append(txns, r.txn(1+r.IntN(s.Ops), snapshots, overlap))
	}
	r.assignSessions(txns, sessions)
	r.times(txns)
	skews := []string{"1", "2", "5", "4611686018427387904", "9223372036854775807"}
	if r.one(6) {
		header, hasHeader = header+`,"clock_skew":`+skews[r.IntN(len(skews))], true
	}
	if r.one(6) {
		header, hasHeader = header+`,"read_only_at_start":true`, true
	}
	if r.kind == Lists && r.one(8) {
		header, hasHeader = header+`,"model":"list"`, true
	}
	if r.one(2) {
		header, hasHeader = header+`,"turn":`+strconv.Itoa(r.IntN(100)), true
	}
	var out []byte
	if hasHeader {
		out = append(append(append(out, '{'), header...), "}\n"...)
	}
	if r.one(3) {
		r.Shuffle(len(txns), func(i, j int) { txns[i], txns[j] = txns[j], txns[i] })
	}
	for i := range txns {
		out = txns[i].appendTo(out)
	}
	return out
}

// mix draws what a mixed history has.
func (r *run) mix() {
	lists := !r.one(3)
	r.preds = !lists || r.one(4)
	r.again, r.columns = r.preds, r.preds && r.one(2)
	r.dup, r.null = !r.one(3), r.one(2)
	for k := range r.list {
		r.list[k] = lists && r.one(2)
	}
}

// value draws a value to write to a key.
func (r *run) value(k int) string {
	if r.null && r.one(4) {
		return "null"
	}
	var n int64
	if r.dup && r.one(2) {
		n = r.Int64N(2)
	} else {
		r.next++
		n = r.next
	}
	switch {
	case k < len(r.list) && r.list[k]:
		return strconv.FormatInt(n, 10)
	case r.rows:
		t := `{"v":` + strconv.Itoa(r.IntN(3))
		if r.one(8) {
			t = `{"v":null`
		}
		if r.columns && !r.one(4) {
			t += `,"w":` + strconv.Itoa(r.IntN(2))
		}
		if !r.dup {
			t += `,"u":` + strconv.FormatInt(n, 10)
		}
		return t + "}"
	case r.strings && r.one(2):
		return strconv.Quote("s" + strconv.FormatInt(n, 10))
	case r.strings && r.dup && r.one(2):
		return "true"
	}
	return strconv.FormatInt(n, 10)
}

func (r *run) key(k int) string {
	if r.strings && k == 1 {
		return "7"
	}
	return strconv.Quote(string(rune('x' + k)))
}

// load is the initial transaction.
func (r *run) load(s *state) txn {
	t := txn{init: true}
	for k := range r.keys {
		for range r.IntN(3) {
			t.ops = append(t.ops, r.write(k, s))
		}
	}
	return t
}

// write writes to a key or appends to it.
func (r *run) write(k int, s *state) string {
	v := r.value(k)
	if r.list[k] && v == "null" {
		v = "0"
	}
	r.written[k] = append(r.written[k], v)
	if r.list[k] {
		s.list[k] = append(s.list[k], v)
		return `["a",` + r.key(k) + "," + v + r.timed() + "]"
	}
	s.reg[k] = v
	return `["w",` + r.key(k) + "," + v + r.timed() + "]"
}

// timed are an operation's times.
func (r *run) timed() string {
	if !r.opTimes || r.one(4) {
		return ""
	}
	r.clock += r.Int64N(3)
	return "," + strconv.FormatInt(r.clock, 10) + "," + strconv.FormatInt(r.clock+r.Int64N(3), 10)
}

// read reads a key as the state has it, or not quite.
func (r *run) read(k int, s *state) string {
	wrong := r.noise > 0 && r.one(r.noise)
	if !r.list[k] {
		v := s.reg[k]
		if wrong {
			if v = r.written[k][r.IntN(len(r.written[k]))]; r.one(6) {
				v = r.value(k)
			}
		}
		return `["r",` + r.key(k) + "," + v + r.timed() + "]"
	}
	l := slices.Clone(s.list[k])
	if wrong {
		switch r.IntN(4) {
		case 0:
			l = append(l, strconv.FormatInt(r.Int64N(r.next+2), 10))
		case 1:
			l = l[:r.IntN(len(l)+1)]
		default:
			if n := len(l); n > 0 {
				i, j := r.IntN(n), r.IntN(n)
				l[i], l[j] = l[j], l[i]
				if r.one(3) {
					l[i] = l[j]
				}
			}
		}
	}
	text := "null"
	if len(l) > 0 || r.one(3) {
		text = "["
		for i, v := range l {
			if i > 0 {
				text += ","
			}
			text += v
		}
		text += "]"
	}
	return `["r",` + r.key(k) + "," + text + r.timed() + "]"
}

// txn executes a transaction.
func (r *run) txn(ops int, snapshots, overlap bool) txn {
	at := len(r.states) - 1
	if snapshots && r.one(2) {
		at = r.IntN(len(r.states))
	}
	t := txn{start: int64(3 * at), commit: int64(3*len(r.states) - 1)}
	mine := r.states[at].clone()
	before := make([]int, r.keys)
	for k := range before {
		before[k] = len(mine.list[k])
	}
	wrote := make([]bool, r.keys)
	if r.one(15) {
		ops = 0
	}
	only := r.IntN(r.keys)
	for range ops {
		k := r.IntN(r.keys)
		if r.kind == Single {
			k = only
		}
		if overlap && !wrote[k] && r.one(4) { // as below snapshot isolation
			last := r.states[len(r.states)-1]
			mine.reg[k], mine.list[k] = last.reg[k], slices.Clip(slices.Clone(last.list[k]))
			before[k] = len(mine.list[k])
		}
		switch {
		case r.preds && !r.list[k] && r.one(2):
			op, ks := r.predicate(&mine, only)
			t.ops = append(t.ops, op)
			for _, k := range ks {
				wrote[k] = true
			}
		case r.one(2):
			t.ops = append(t.ops, r.read(k, &mine))
		default:
			if r.kind == Mini && !wrote[k] || r.kind == Single && r.one(2) {
				t.ops = append(t.ops, r.read(k, &mine))
			}
			t.ops = append(t.ops, r.write(k, &mine))
			wrote[k] = true
		}
	}
	lands := true
	switch {
	case r.one(r.aborts):
		t.status, lands = "aborted", r.one(4)
	case r.one(r.unknowns):
		t.status, lands = "unknown", r.one(2)
	}
	if lands {
		next := r.states[len(r.states)-1].clone()
		for k := range wrote {
			if wrote[k] && r.list[k] {
				next.list[k] = append(next.list[k], mine.list[k][before[k]:]...)
			} else if wrote[k] {
				next.reg[k] = mine.reg[k]
			}
		}
		r.states = append(r.states, next)
	}
	return t
}

// predicate reads or writes by a condition on scalars or on the column v of rows.
func (r *run) predicate(s *state, only int) (op string, wrote []int) {
	column := ""
	if r.rows {
		if column = "v"; r.columns && r.one(2) {
			column = "w"
		}
	}
	than := []string{"=", "!=", "<", "<=", ">", ">="}[r.IntN(6)]
	c := r.Int64N(3)
	if !r.rows && !r.dup {
		c = r.Int64N(r.next + 1)
	}
	cond := `{"` + column + `":{"` + than + `":` + strconv.FormatInt(c, 10) + `}}`
	one := r.kind == Single
	switch {
	case r.one(10):
		cond = `{"not":` + cond + `}`
	case r.one(10):
		cond = `{"or":[` + cond + `,{"key":{"=":` + r.key(r.IntN(r.keys)) + `}}]}`
		one = true // its truth is not worked out here: mostly wrong
	case r.one(10) || one:
		cond = `{"and":[` + cond + `,{"key":{"=":` + r.key(only) + `}}]}`
	}
	write := r.one(3)
	text := ""
	for k := range r.keys {
		if r.list[k] {
			continue
		}
		v := s.reg[k]
		hit := v != "null" && r.holds(column, v, than, c)
		if len(cond) > 1 && cond[2] == 'n' {
			hit = v != "null" && !r.holds(column, v, than, c)
		} else if len(cond) > 1 && cond[2] == 'a' {
			hit = hit && k == only
		}
		if r.noise > 0 && r.one(2*r.noise) {
			hit = !hit
		}
		if !hit {
			continue
		}
		if r.noise > 0 && r.one(2*r.noise) {
			v = r.written[k][r.IntN(len(r.written[k]))]
		}
		if v == "null" {
			continue
		}
		if text != "" {
			text += ","
		}
		if r.again && r.one(12) { // the reader refuses it where it is the same version, or a write
			text += "[" + r.key(k) + "," + r.written[k][r.IntN(len(r.written[k]))] + "],"
		}
		text += "[" + r.key(k)
		if !write || r.predBefore && !r.one(8) {
			text += "," + v
		}
		if write {
			n := r.value(k)
			s.reg[k] = n
			r.written[k] = append(r.written[k], n)
			wrote = append(wrote, k)
			text += "," + n
		}
		text += "]"
	}
	kind := "pr"
	if write {
		kind = "pw"
	}
	return `["` + kind + `",` + cond + `,[` + text + `]` + r.timed() + `]`, wrote
}

// holds is the truth of a comparison for a value, or its column, as value writes it.
func (r *run) holds(column, v, than string, c int64) bool {
	if r.rows {
		_, rest, _ := strings.Cut(v, strconv.Quote(column)+":")
		v = rest[:min(1, len(rest))]
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil {
		return false
	}
	switch than {
	case "=":
		return n == c
	case "!=":
		return n != c
	case "<":
		return n < c
	case "<=":
		return n <= c
	case ">":
		return n > c
	}
	return n >= c
}
