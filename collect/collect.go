package collect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"isovet/collect/driver"
	"isovet/collect/server"
	"isovet/collect/sqlwork"
	"isovet/datasets/workload"
	"isovet/history"
	"isovet/internal/plural"
	"isovet/internal/safego"
)

// Config describes a run. The zero value with a DB runs 10,000 transactions of BlindW in 24 sessions at the database's
// default isolation.
type Config struct {
	// DB is the database's URL, the URLs of a cluster's nodes, over which the sessions are spread, or a server to
	// start, such as "postgres:start".
	DB []string
	// Isolation is the name of an isolation level; "" means the database's default. driver.All lists the names.
	Isolation string

	Workload, Variant string // "": blindw, and the workload's first
	Keys, Ops         int    // 0: the workload's own
	Values            int    // as workload.Params.Values: for the history; the database holds unique ids
	// Custom, if set, is a workload to run instead of a named one.
	Custom workload.Workload
	// Own, if set, is a workload of SQL statements on the user's own tables, to run instead.
	Own     *sqlwork.Workload
	ownLast int64 // the largest initial version in its tables
	// SetupSQL are statements to run once after the load. SessionSQL are statements with which every session begins.
	// Both need an SQL database.
	SetupSQL, SessionSQL []string

	Txns     int           // committed transactions; 0: 10,000, or unbounded with a Duration
	Duration time.Duration // 0: until all are committed
	Sessions int           // 0: 24
	Seed     uint64        // of the workload; the database's timing is not determined by it
	Think    time.Duration // a session's pause before each operation

	// Timestamps records the database's own timestamps (PostgreSQL, Badger, etcd).
	Timestamps bool
	// Fault is injected into the servers during the run.
	Fault Fault
	Send  string // a way of driver.Sender to send statements; "": the URL's
	// Timeout bounds each answer of a server; 0 means 10 s.
	Timeout time.Duration
	// Server, if set, is the running server of DB. Open uses it, and Close leaves it running.
	Server *server.Cluster
	// Patience is how long a session tries to reach a lost database; 0 means 30 s.
	Patience time.Duration
	// KeepCalls records the request of each operation, and the database's reason if it refused, for Result.Events and
	// Result.Script. It costs some hundred bytes for each operation, and cannot be combined with Rotate.
	KeepCalls bool
	// NoRecord runs the same clients without recording, to measure the cost of recording. The Result has no History.
	NoRecord bool
	// Progress, if set, is called about twice a second.
	Progress func(Progress)
	// Live, if set, receives the transactions during the run.
	Live Live
	// Partial, if set, is a file for a recording during the run. If this program is killed, the file has what the
	// clients saw, without the database's timestamps, and isovet reads it as a history. Each run overwrites it. After
	// the run the caller should remove it when the history is stored.
	Partial string
	Ahead   *Ahead        // of a hunt
	Grace   time.Duration // time for sessions to end once the time is up; 0: Timeout
	// Rotate, if set, makes the run write the recording to files in a folder, in parts, instead of returning it.
	Rotate *Rotate
}

// Progress is the progress of a run.
type Progress struct {
	Stage                       string // "starting", "loading", "running"
	Committed, Aborted, Unknown int
	Txns                        int // committed transactions asked for; 0: no bound
	Elapsed                     time.Duration
	Rate                        float64 // commits a second, lately
}

// Result is a recorded run.
type Result struct {
	History *history.History // nil with Config.Rotate
	// Operations are instead of History for a workload of operations: their calls and results in JSON, as Jepsen has.
	Operations []byte
	Parts      Parts // with Config.Rotate
	Summary    Summary
	// Interrupted says that ctx ended the run early.
	Interrupted bool

	run *run
}

// WithDefaults fills in zero fields.
func (c Config) WithDefaults() Config {
	c.Workload = cmp.Or(c.Workload, "blindw")
	if c.Duration == 0 {
		c.Txns = cmp.Or(c.Txns, 10000)
	}
	c.Sessions = cmp.Or(c.Sessions, 24)
	c.Timeout = cmp.Or(c.Timeout, 10*time.Second)
	c.Patience = cmp.Or(c.Patience, 30*time.Second)
	return c
}

// DriverOptions returns the options for opening the database.
func (c *Config) DriverOptions() driver.Options {
	o := driver.Options{Isolation: c.Isolation, Timestamps: c.Timestamps, Timeout: c.Timeout, SetupSQL: c.SetupSQL,
		SessionSQL: c.SessionSQL}
	if c.Own != nil {
		o.SessionSQL = slices.Concat(o.SessionSQL, c.Own.Session)
	}
	return o
}

// Validate returns an error about settings that are wrong or exclude each other.
func (c *Config) Validate() error {
	switch {
	case c.Own != nil && (c.Custom != nil || c.Live != nil || c.NoRecord || c.Timestamps || c.Values > 0):
		return errors.New("--watch, --timestamps and --values do not work with a workload of your own SQL " +
			"statements; leave them out")
	case c.Own != nil && c.Fault.Kind == Schema:
		return fmt.Errorf("fault %v needs isovet's own tables; expected a built-in workload", c.Fault)
	case c.Own != nil && c.Own.Operations && (c.Rotate != nil || c.Ahead != nil):
		return errors.New("hunt and --rotate do not work with operations on objects, such as workload bank; expected " +
			"collect without --rotate")
	case len(c.DB) == 0:
		return errors.New("no database is named; expected a URL, such as sqlite:, postgres://… or postgres:start")
	case c.Txns < 0 || c.Sessions < 0 || c.Keys < 0 || c.Ops < 0 || c.Values < 0:
		return fmt.Errorf("%d transactions, %d sessions, %d keys, %d operations, %d values; none may be negative",
			c.Txns, c.Sessions, c.Keys, c.Ops, c.Values)
	case c.Duration < 0 || c.Think < 0:
		return fmt.Errorf("a negative time")
	}
	return errors.Join(c.Fault.validate(), c.validateRotate())
}

// Run opens the database, collects one history, and closes the database. It removes its tables. If the run fails, for
// example because the database is lost, it returns the recording up to then with the error.
func Run(ctx context.Context, c Config) (*Result, error) {
	t, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return t.Collect(ctx, c)
}

// Target is an open database from which histories are collected, once or repeatedly.
type Target struct {
	DB      driver.DB
	Options driver.Options
	cluster *server.Cluster // nil: this program did not start it
	lent    bool            // it is Config.Server
	closed  sync.Once
	hung    hung
	URLs    []string // of the nodes
	// Broken says that an error broke the database. It must be opened anew before the next load.
	Broken atomic.Bool
}

// Open starts the server if c asks for that, and opens the database. Close must be called.
func Open(ctx context.Context, c Config) (_ *Target, err error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	t := &Target{Options: c.DriverOptions()}
	urls := c.DB
	defer func() {
		if err != nil {
			err = errors.Join(err, t.Close())
		}
	}()
	if slices.ContainsFunc(urls, server.Is) {
		if len(urls) > 1 {
			return nil, errors.New("postgres:start and the like start a whole database; expected no second --db")
		}
		c.tell(Progress{Stage: "starting " + urls[0]})
		options := server.Options{Apart: c.Fault.Kind == Split, Clocks: c.Fault.Kind == Skew}
		if t.cluster, t.lent = c.Server, c.Server != nil; !t.lent {
			t.cluster, err = server.StartWith(ctx, urls[0], options)
		}
		if err != nil {
			return nil, err
		}
		urls, t.Options.Nodes = t.cluster.URLs, t.cluster.Names
	} else if c.Fault.Ours() {
		return nil, fmt.Errorf("fault %v: isovet breaks only servers that it started; expected a database such as "+
			"postgres:start", c.Fault)
	}
	t.URLs = urls
	if t.DB, err = driver.Open(ctx, urls, t.Options); err != nil {
		return nil, err
	}
	if c.Fault.Kind == Partition && !t.DB.Partition(0, false) {
		return nil, fmt.Errorf("fault %v: %s has no network connection to break", c.Fault, t.DB.Info().Name)
	}
	if i := t.DB.Info(); c.Fault.Kind == Schema && driver.SchemaChanges(i.Dialect, driver.Data{}) == nil {
		return nil, fmt.Errorf("%w: fault %v: isovet knows no schema changes for %s; expected PostgreSQL, MariaDB, "+
			"MySQL, SQLite, or a database with their SQL", driver.ErrUnsupported, c.Fault, i.Name)
	}
	return t, nil
}

// Close removes the loaded tables, closes the database, and ends a server that Open started.
func (t *Target) Close() (err error) {
	t.closed.Do(func() {
		if t.cluster != nil && !t.lent {
			if t.DB != nil {
				t.DB.Cut()
			}
			err = t.cluster.Close()
			return
		}
		if t.DB != nil {
			err = t.hung.close(t.DB, t.Options.Timeout)
		}
	})
	return err
}

func (c *Config) tell(p Progress) {
	if c.Progress != nil {
		c.Progress(p)
	}
}

type run struct {
	cfg     Config
	target  *Target
	info    driver.Info
	tables  []workload.Table
	work    workload.Workload
	what    string // workload/variant
	note    string
	values  int // Config.Values, or the variant's number
	clients []*client
	epoch   time.Time
	partial *partial // nil: none
	// atFirst has the initial rows without versions; nil means those of the workload's tables.
	atFirst map[workload.Key][]int64
	nodeOf  []int // session of a schedule → node; nil: they are spread
	locks   bool  // the database has reads that take locks
	shares  bool  // and reads that take read locks
	foreign bool  // the tables have foreign keys

	tickets                     atomic.Int64 // transactions still to begin
	committed, aborted, unknown atomic.Int64
	stop                        atomic.Bool
	cutOff                      atomic.Bool // open calls are being ended
	changes                     schemaCounts

	mu  sync.Mutex
	err error // the first error that ends the run
}

// Collect loads the workload's tables, runs it, and returns what the clients saw. c must name the same database and
// isolation as the Config for Open. If a database error ends the run, Collect returns the recording up to then with
// the error.
func (t *Target) Collect(ctx context.Context, c Config) (*Result, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.WithDefaults()
	c.KeepCalls = c.KeepCalls && c.Rotate == nil && c.Own == nil && !c.NoRecord
	if c.Own != nil {
		return t.collectOwn(ctx, c)
	}
	if err := t.send(c.Send); err != nil {
		return nil, err
	}
	r := &run{cfg: c, target: t, info: t.DB.Info()}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	if err := t.hung.await(c.Timeout); err != nil {
		return nil, err
	}
	if c.Live != nil {
		if err := c.Live.Begin(r.meta()); err != nil {
			return nil, err
		}
	}
	c.tell(Progress{Stage: "loading"})
	if err := t.load(ctx, r.data()); err != nil {
		return nil, fmt.Errorf("loading: %w", err)
	}
	if err := r.connect(ctx); err != nil {
		t.breaks(err)
		return nil, err
	}
	plan := r.otherPlan()
	if err := r.openRecording(ctx); err != nil {
		r.disconnect()
		return nil, err
	}
	r.drive(ctx)
	if r.partial != nil {
		if err := r.partial.close(); err != nil {
			r.fail(fmt.Errorf("cannot write the recording: %w", err))
		}
	}
	res := &Result{Interrupted: ctx.Err() != nil, Summary: r.summary(), run: r}
	res.Summary.OtherPlan = plan
	if c.Rotate != nil {
		res.Parts = r.partial.written()
	}
	if c.NoRecord || c.Rotate != nil {
		return res, r.err
	}
	// An interrupt ends the clients' work, but the history is still built.
	h, err := r.build(context.WithoutCancel(ctx))
	if err != nil {
		return nil, errors.Join(err, r.err)
	}
	res.History = h
	return res, r.err
}

// openRecording opens the files for recordings during the run.
func (r *run) openRecording(ctx context.Context) (err error) {
	switch c := &r.cfg; {
	case c.Rotate != nil:
		r.partial, err = r.openParts(context.WithoutCancel(ctx))
	case c.Partial != "" && !c.NoRecord:
		r.partial, err = r.openPartial(c.Partial)
	}
	return err
}

func (r *run) prepare() error {
	c := &r.cfg
	r.what, r.work = "custom", c.Custom
	keys := 0
	if r.work == nil {
		info, err := workload.Lookup(c.Workload)
		if err != nil {
			return err
		}
		w, p, err := info.New(workload.Params{Variant: c.Variant, Keys: c.Keys, Ops: c.Ops, Sessions: c.Sessions,
			Database: true, Values: c.Values})
		if err != nil {
			return err
		}
		r.work, r.what, keys, r.values = w, info.Name+"/"+p.Variant, p.Keys, p.Values
	}
	r.tables = r.work.Tables()
	r.foreign = slices.ContainsFunc(r.tables, func(t workload.Table) bool { return len(t.Foreign) > 0 })
	r.note = fmt.Sprintf("seed %d, %s", c.Seed, plural.Of(c.Sessions, "session"))
	if keys > 0 {
		r.note += ", " + plural.Of(keys, "key")
	}
	if r.values > 0 {
		r.note += ", " + plural.Phrase(r.values, "value a key", "values a key")
	}
	if s := r.info.Statements; s != "" {
		r.note += ", " + s
	}
	if c.Fault.Kind != NoFault {
		r.note += ", fault " + c.Fault.String()
	}
	return nil
}

func (r *run) meta() history.Meta {
	return history.Meta{
		Name: fmt.Sprintf("%s-%d", r.what, r.cfg.Seed), DB: r.info.Name, Isolation: r.info.Isolation, Workload: r.what,
		Note:  r.note,
		Lists: slices.ContainsFunc(r.tables, func(t workload.Table) bool { return t.List }),
	}
}

// connect opens the sessions, spread over the nodes.
func (r *run) connect(ctx context.Context) error {
	if s, ok := r.target.DB.(driver.Speller); ok {
		r.locks, r.shares = s.Statements().Locks(), s.Statements().Shares()
	}
	for i := range r.cfg.Sessions {
		c := &client{r: r, id: int32(i), node: i % len(r.info.Nodes)}
		if r.nodeOf != nil {
			c.node = r.nodeOf[i] % len(r.info.Nodes)
		}
		c.seed()
		r.clients = append(r.clients, c)
		var err error
		if c.sess, err = r.target.DB.Connect(ctx, c.node); err != nil {
			r.disconnect()
			return fmt.Errorf("session %d of %d: %w", i+1, r.cfg.Sessions, err)
		}
	}
	return nil
}

func (r *run) disconnect() {
	for _, c := range r.clients {
		if !c.isGone() {
			c.drop()
		}
	}
}

// cutAfter is how long sessions may take to end their transactions when the run stops.
const cutAfter = 2 * time.Second

func (r *run) drive(ctx context.Context) {
	r.sessions(ctx, (*client).loop)
}

// sessions runs each session in its own goroutine, and returns when all have ended.
func (r *run) sessions(ctx context.Context, session func(*client)) {
	r.tickets.Store(int64(r.cfg.Txns))
	if r.cfg.Txns == 0 {
		r.tickets.Store(1 << 62)
	}
	r.epoch = time.Now()
	var helpers safego.Group
	done := make(chan struct{})
	helpers.Go(func() { r.watch(ctx, done) })
	helpers.Go(func() { r.breakThings(ctx, done) })
	helpers.Go(func() { r.followLive(done) })
	looking, over := context.WithCancel(ctx)
	helpers.Go(func() { r.lookAhead(looking, done) })
	helpers.Go(func() { r.watchCalls(done) })
	for _, c := range r.clients {
		c.start(func() { session(c) })
	}
	func() {
		defer func() {
			close(done)
			over()
			helpers.Wait()
			r.disconnect()
		}()
		r.await()
	}()
}

// watch reports progress. It stops the clients when the time is up or ctx ends, and cuts off clients that hang.
func (r *run) watch(ctx context.Context, done <-chan struct{}) {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	var up, cut <-chan time.Time
	if r.cfg.Duration > 0 {
		up = time.After(r.cfg.Duration)
	}
	ended := ctx.Done()
	last, at := int64(0), time.Now()
	for {
		select {
		case <-done:
			return
		case <-ended:
			ended = nil
			r.stop.Store(true)
			cut = time.After(cutAfter)
		case <-up:
			r.stop.Store(true)
			cut = time.After(cmp.Or(r.cfg.Grace, r.cfg.Timeout))
		case <-cut:
			r.cut()
		case now := <-tick.C:
			n := r.committed.Load()
			r.cfg.tell(Progress{
				Stage: "running", Committed: int(n), Aborted: int(r.aborted.Load()), Unknown: int(r.unknown.Load()),
				Txns:    r.cfg.Txns,
				Elapsed: time.Since(r.epoch), Rate: float64(n-last) / now.Sub(at).Seconds(),
			})
			last, at = n, now
			if cut == nil && r.stop.Load() { // something else has ended the run
				cut = time.After(cmp.Or(r.cfg.Grace, r.cfg.Timeout))
			}
		}
	}
}

// now returns the clients' time: nanoseconds since the run began, from the monotonic clock.
func (r *run) now() int64 { return int64(time.Since(r.epoch)) }
