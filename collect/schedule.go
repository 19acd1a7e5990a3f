package collect

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/safego"
	"isovet/internal/slice"
)

// StepKind is the kind of a step of a schedule.
type StepKind uint8

const (
	Begin StepKind = iota
	Do
	Commit
	Rollback
)

// Step is an action of one session at one point of a schedule.
type Step struct {
	Session int // from 0
	Kind    StepKind
	Op      workload.Op // of Do
	Text    string      // its notation
}

// Schedule is a list of steps of a few sessions, in order. If the database makes a session wait, the other sessions go
// on, and that session does its later steps when it can.
type Schedule struct {
	Steps    []Step
	Sessions int
	// Predicates says that some operations have conditions.
	Predicates bool

	tables []workload.Table // nil: scheduleTables
	// loaded has the initial rows of the tables: columns, a number, or several numbers; nil means the tables' own.
	loaded map[workload.Key][]int64
	nodes  []int // session → node; nil: they are spread
}

// scheduleTables are the tables for schedules: the items x, y and z, and table t with rows 0, 1 and 2, whose column v
// has 0, 10 and 20.
func scheduleTables() []workload.Table {
	return []workload.Table{
		{Name: "item", Rows: len(scheduleItems)},
		{Name: "t", Rows: 3, Columns: []workload.Column{{Name: "v", Index: true}}, Load: func(pk int64, row []int64) {
			row[0] = 10 * pk
		}},
	}
}

// ownTables returns the tables that a schedule uses.
func (s *Schedule) ownTables() []workload.Table {
	switch {
	case s.tables != nil:
		return s.tables
	case s.Predicates:
		return scheduleTables()
	}
	return scheduleTables()[:1]
}

const scheduleItems = "xyz"

var (
	stepText  = regexp.MustCompile(`^([a-z]+)([1-9])(?:\(([^)]*)\))?$`)
	rangeText = regexp.MustCompile(`^v(=|>=|<)(\d+)$`)
)

// ParseSchedule reads a schedule in the notation of Berenson et al. (SIGMOD 1995), steps with spaces between; the
// number is the session's:
//
//	b1 c1 a1           begin, commit, roll back
//	r1(x) w1(x) d1(x)  read, write, delete an item: x, y or z
//	l1(x)              a read that takes the row's write lock (SELECT … FOR UPDATE)
//	q1(v=30)           a predicate read: the rows of t whose v is 30; also v>=30, v<30, and v>=10,v<30
//	i1(4:30)           insert row 4 with v = 30, or overwrite it
//	u1(v=10:+5)        update the rows that a condition finds: v = v + 5; without the sign, v = 5
//	e1(v=20)           delete the rows that a condition finds
func ParseSchedule(text string) (*Schedule, error) {
	s := &Schedule{}
	open := map[int]bool{}
	for _, word := range strings.Fields(text) {
		m := stepText.FindStringSubmatch(word)
		if m == nil {
			return nil, fmt.Errorf("step %q; expected one such as b1, r1(x) or c1", word)
		}
		st := Step{Session: int(m[2][0] - '1'), Kind: Do, Text: word}
		if err := st.parse(m[1], m[3]); err != nil {
			return nil, fmt.Errorf("step %q: %w", word, err)
		}
		if (st.Kind == Begin) == open[st.Session] {
			return nil, fmt.Errorf("step %q: transaction %s begins twice, has not begun, or is over", word, m[2])
		}
		open[st.Session] = st.Kind == Begin || st.Kind == Do
		s.Sessions = max(s.Sessions, st.Session+1)
		s.Predicates = s.Predicates || st.Kind == Do && st.Op.Key.Table() == 1
		s.Steps = append(s.Steps, st)
	}
	for n, o := range open {
		if o {
			return nil, fmt.Errorf("transaction %d has no end", n+1)
		}
	}
	return s, nil
}

// parse reads a step's verb and the text between its parentheses.
func (st *Step) parse(verb, arg string) error {
	kinds := map[string]workload.OpKind{"r": workload.Read, "l": workload.Read, "w": workload.Write,
		"d": workload.Delete}
	switch verb {
	case "b", "c", "a":
		if arg != "" {
			return fmt.Errorf("%q; expected nothing in parentheses", arg)
		}
		st.Kind = map[string]StepKind{"b": Begin, "c": Commit, "a": Rollback}[verb]
		return nil
	case "r", "w", "d", "l":
		i := strings.Index(scheduleItems, arg)
		if len(arg) != 1 || i < 0 {
			return fmt.Errorf("item %q; expected x, y or z", arg)
		}
		st.Op = workload.Op{Key: workload.MakeKey(0, int64(i)), Kind: kinds[verb], ForUpdate: verb == "l"}
		return nil
	case "i":
		pk, v, ok := strings.Cut(arg, ":")
		p, err := strconv.ParseUint(pk, 10, 16)
		n, err2 := strconv.ParseUint(v, 10, 16)
		if !ok || err != nil || err2 != nil {
			return fmt.Errorf("%q; expected a row and its v, such as 4:30", arg)
		}
		st.Op = workload.Op{Key: workload.MakeKey(1, int64(p)), Kind: workload.Write, Row: []int64{int64(n)}}
		return nil
	case "q", "u", "e":
		return st.parseWhere(verb, arg)
	}
	return fmt.Errorf("%q; expected one of b, c, a, r, w, d, l, q, i, u, e", verb)
}

func (st *Step) parseWhere(verb, arg string) error {
	st.Op = workload.Op{Key: workload.MakeKey(1, 0), Kind: workload.ReadWhere}
	where, set, hasSet := strings.Cut(arg, ":")
	if hasSet != (verb == "u") {
		return fmt.Errorf("%q; expected a change after a colon, such as v=10:+5, and only in updates", arg)
	}
	switch verb {
	case "u":
		n, err := strconv.ParseInt(set, 10, 32)
		if err != nil {
			return fmt.Errorf("change %q; expected a number, or +5", set)
		}
		st.Op.Kind = workload.UpdateWhere
		st.Op.Set = []workload.Set{{Keep: strings.HasPrefix(set, "+"), Add: n}}
	case "e":
		st.Op.Kind = workload.DeleteWhere
	}
	r := workload.Range{Min: math.MinInt64, Max: math.MaxInt64}
	for _, part := range strings.Split(where, ",") {
		m := rangeText.FindStringSubmatch(part)
		if m == nil {
			return fmt.Errorf("condition %q; expected v=N, v>=N or v<N", part)
		}
		n, err := strconv.ParseInt(m[2], 10, 32)
		if err != nil {
			return fmt.Errorf("condition %q: %w", part, err)
		}
		switch m[1] {
		case "=":
			r = workload.Equal(0, n)
		case ">=":
			r.Min = n
		default:
			r.Max = n
		}
	}
	st.Op.Where = []workload.Range{r}
	return nil
}

// Played is the result of playing a schedule.
type Played struct {
	History *history.History
	// Refused has, for each session, the reason why the database refused its transaction, or "".
	Refused []string
	// Waited lists the steps that the database made wait for other sessions.
	Waited []string

	run *run
}

// scheduleWait is how long a step may take before it counts as waiting for another session, and the others go on.
const scheduleWait = 120 * time.Millisecond

// player is a session that runs its steps of a schedule.
type player struct {
	c     *client
	steps chan Step
	busy  atomic.Int32 // steps sent and not finished
	idle  chan struct{}
	x     *txnRec
	over  bool // refused: its further steps are skipped
	why   string
}

// loaded makes and loads the tables of a schedule, for one run. Open must have opened this database with c.
func (t *Target) loaded(ctx context.Context, c Config, s *Schedule) (*run, error) {
	c.Custom, c.Sessions, c.Txns = tablesOnly(s.ownTables()), s.Sessions, 1
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.KeepCalls = true
	r := &run{cfg: c, target: t, info: t.DB.Info(), atFirst: s.loaded, nodeOf: s.nodes}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	r.note = "schedule: " + s.String()
	if err := t.load(ctx, r.data()); err != nil {
		return nil, fmt.Errorf("loading: %w", err)
	}
	return r, nil
}

// Play runs a schedule once, on fresh tables. Open must have opened this database with c.
func (t *Target) Play(ctx context.Context, c Config, s *Schedule) (*Played, error) {
	r, err := t.loaded(ctx, c, s)
	if err != nil {
		return nil, err
	}
	if err := r.connect(ctx); err != nil {
		return nil, err
	}
	defer r.disconnect()
	r.epoch = time.Now()
	out := &Played{run: r}
	players := r.players(s)
	done := make(chan struct{})
	var watching safego.Group
	watching.Go(func() { r.watchCalls(done) })
	for _, st := range s.Steps {
		if ctx.Err() != nil {
			break
		}
		p := players[st.Session]
		p.busy.Add(1)
		p.steps <- st
		if !settled(players) && p.busy.Load() > 0 {
			out.Waited = append(out.Waited, st.Text)
		}
	}
	for _, p := range players {
		close(p.steps)
	}
	stop := context.AfterFunc(ctx, r.cut)
	r.await()
	stop()
	close(done)
	watching.Wait()
	out.Refused = slice.Map(players, func(p *player) string { return p.why })
	if err := cmp.Or(r.err, ctx.Err()); err != nil {
		return out, err
	}
	out.History, err = r.build(ctx)
	return out, err
}

// players starts a player for each session.
func (r *run) players(s *Schedule) []*player {
	players := make([]*player, s.Sessions)
	for i := range players {
		p := &player{c: r.clients[i], steps: make(chan Step, len(s.Steps)), idle: make(chan struct{}, len(s.Steps))}
		players[i] = p
		p.c.start(func() {
			for st := range p.steps {
				p.do(st)
				p.busy.Add(-1)
				p.idle <- struct{}{}
			}
		})
	}
	return players
}

// settled waits until no session has an open step. It returns false if a session waits for another.
func settled(players []*player) bool {
	late := time.NewTimer(scheduleWait)
	defer late.Stop()
	for _, p := range players {
		for p.busy.Load() > 0 {
			select {
			case <-p.idle:
			case <-late.C:
				return false
			}
		}
	}
	return true
}

func (p *player) do(st Step) {
	if p.over && st.Kind != Begin || p.c.sess == nil {
		return
	}
	c := p.c
	switch st.Kind {
	case Begin:
		p.over = false
		p.x = c.newTxn("")
		if err := c.begin(workload.ReadWrite); err != nil {
			p.refused(err, "begin")
		}
	case Do:
		op := st.Op
		if err := c.do(&op); err != nil {
			p.refused(err, st.Text)
		}
	case Rollback:
		p.over = true
		c.giveUp(p.x)
	case Commit:
		p.over = true
		p.x.commit = c.r.now()
		err := c.commit()
		p.x.end = c.r.now()
		if err != nil {
			p.why = err.Error()
			c.uncommitted(p.x, err)
			return
		}
		c.write(*p.x)
		c.r.committed.Add(1)
	}
}

func (p *player) refused(err error, where string) {
	p.over, p.why = true, err.Error()
	p.c.refused(p.x, err, where)
}

// String returns the schedule in its notation.
func (s *Schedule) String() string {
	return strings.Join(slice.Map(s.Steps, func(st Step) string { return st.Text }), " ")
}

// tablesOnly is a workload whose clients do nothing.
type tablesOnly []workload.Table

func (t tablesOnly) Tables() []workload.Table               { return t }
func (t tablesOnly) Client(int, *rand.Rand) workload.Client { return nobody{} }

type nobody struct{}

func (nobody) Next(*workload.Txn) {}
func (nobody) Step(*workload.Txn) {}

// Against describes how the database prevented a schedule.
func (p *Played) Against() string {
	var parts []string
	if len(p.Waited) > 0 {
		parts = append(parts, strings.Join(p.Waited, ", ")+" waited")
	}
	for i, why := range p.Refused {
		if why != "" {
			why, _, _ = strings.Cut(why, "\n")
			parts = append(parts, fmt.Sprintf("transaction %d was refused (%s)", i+1, why))
		}
	}
	return strings.Join(parts, ", ")
}
