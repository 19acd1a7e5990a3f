package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"isovet/datasets"
	"isovet/evidence"
	"isovet/history"
)

// Databases runs the parts of figures that need databases or the network.
type Databases interface {
	// Start starts a server, such as "postgres:start". It returns an error that says why it cannot.
	Start(ctx context.Context, start string) (*Server, error)
	Run(ctx context.Context, l Traffic) (*Ran, error)
	// Rate runs a load of spec.Txns transactions with spec.Ops operations, and returns how many commit per second. to
	// is a file or a watch's URL for recording them, or "".
	Rate(ctx context.Context, db []string, spec datasets.Spec, to string) (float64, error)
	// Get asks over HTTP.
	Get(ctx context.Context, url string) (string, error)
}

// databases is nil if the program has none. [Reproduce] then says so.
var databases Databases

// RegisterDatabases sets the Databases for figures. Package bench/databases calls it.
func RegisterDatabases(d Databases) { databases = d }

// Server is a server that Start started.
type Server struct {
	URLs  []string
	Close func() error // ends and removes it
}

// Traffic is a workload to run on databases.
type Traffic struct {
	datasets.Spec
	DB         []string
	Duration   time.Duration // its bound
	Unrecorded bool
	Live       interface { // collect.Live, or nil
		Begin(meta history.Meta) error
		Ended(piece *history.History, mark int64) error
	}
}

// Ran is the result of a load.
type Ran struct {
	History            *history.History // nil: it is unrecorded
	DB                 string
	Committed, Aborted int
	Elapsed            time.Duration
}

// served is a database server that the lab has started for the current figure.
type served struct {
	start string // "postgres:start"
	*Server
}

// serve returns a server. It starts the server when a figure first requests it; it is removed after the figure, even
// an interrupted one. It returns nil, with a note in the report, if the server is not available.
func (l *Lab) serve(ctx context.Context, r *Report, start string) (*served, error) {
	if i := slices.IndexFunc(l.servers, func(s *served) bool { return s.start == start }); i >= 0 {
		return l.servers[i], nil
	}
	if l.noServers {
		r.Note("The runs that need %s are left out: --no-servers forbids database servers.", start)
		return nil, nil
	}
	l.tell("starting " + start)
	c, err := databases.Start(ctx, start)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		why, _, _ := strings.Cut(err.Error(), "\n")
		r.Note("The runs that need %s are left out: %s.", start, strings.TrimRight(why, " :"))
		return nil, nil
	}
	s := &served{start, c}
	l.servers = append(l.servers, s)
	return s, nil
}

// endServers removes the figure's servers.
func (l *Lab) endServers() (err error) {
	for _, s := range l.servers {
		err = errors.Join(err, s.Close())
	}
	l.servers = nil
	return err
}

// collect runs a workload on databases, within a time that keeps the figure short. It uses the lab's seed unless the
// workload has one.
func (l *Lab) collect(ctx context.Context, r *Report, c Traffic) (*Ran, error) {
	c.Seed = cmp.Or(c.Seed, l.Seed)
	c.Duration = time.Duration(l.Pick(1, 12, 600)) * time.Second
	where, _, _ := strings.Cut(c.DB[0], ":")
	l.tell(fmt.Sprintf("collecting %s from %s", Source{Workload: cmp.Or(c.Workload, "blindw"),
		Variant: c.Variant}.Name(), where))
	res, err := databases.Run(ctx, c)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s at %s: %w", c.Workload, c.Variant, c.Isolation, err)
	}
	name := Source{Workload: cmp.Or(c.Workload, "blindw"), Variant: c.Variant}.Name()
	at := cmp.Or(c.Isolation, "its default level")
	if res.Committed < c.Txns {
		r.Note("%s on %s at %s: %d of %d transactions in %v.", name, res.DB, at, res.Committed, c.Txns, c.Duration)
	}
	size := evidence.Sizes{Txns: res.Committed, Sessions: c.Sessions}
	if res.History != nil {
		size = evidence.SizesOf(res.History)
	}
	l.made.addNamed(fmt.Sprintf("%s on %s, %s", name, res.DB, at), size)
	return res, nil
}
