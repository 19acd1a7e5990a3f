package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"isovet/collect"
	"isovet/collect/server"
	"isovet/evidence"
)

// served is a database server that the lab has started for the figure that it measures.
type served struct {
	start   string // "postgres:start"
	cluster *server.Cluster
}

// serve returns a server that is started when a figure first asks for it, and ended and removed after the figure, an
// interrupted one too. It is nil where there is none, which the report then says.
func (l *Lab) serve(ctx context.Context, r *Report, start string) (*served, error) {
	if i := slices.IndexFunc(l.servers, func(s *served) bool { return s.start == start }); i >= 0 {
		return l.servers[i], nil
	}
	if l.noServers {
		r.Note("What %s asks for is left out: no database servers were asked for.", start)
		return nil, nil
	}
	l.tell("starting " + start)
	c, err := server.Start(ctx, start)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, server.ErrMissing):
		r.Note("What %s asks for is left out: %v.", start, err)
		return nil, nil
	case err != nil:
		why, _, _ := strings.Cut(err.Error(), "\n")
		r.Note("What %s asks for is left out, it does not start: %s.", start, strings.TrimRight(why, " :"))
		return nil, nil
	}
	s := &served{start, c}
	l.servers = append(l.servers, s)
	return s, nil
}

// endServers removes the figure's servers.
func (l *Lab) endServers() (err error) {
	for _, s := range l.servers {
		err = errors.Join(err, s.cluster.Close())
	}
	l.servers = nil
	return err
}

// collect runs a workload on databases, within a time that keeps the figure short. The seed is the lab's where there is
// none.
func (l *Lab) collect(ctx context.Context, r *Report, c collect.Config) (*collect.Result, error) {
	c.Seed = cmp.Or(c.Seed, l.Seed)
	c.Duration = time.Duration(l.Pick(1, 12, 600)) * time.Second
	where, _, _ := strings.Cut(c.DB[0], ":")
	l.tell(fmt.Sprintf("collecting %s from %s", Source{Workload: cmp.Or(c.Workload, "blindw"),
		Variant: c.Variant}.Name(), where))
	res, err := collect.Run(ctx, c)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s at %s: %w", c.Workload, c.Variant, c.Isolation, err)
	}
	if s := &res.Summary; s.Committed < c.Txns {
		r.Note("%s on %s at %s: %d of %d transactions in %v.", s.Workload, s.DB, s.Isolation, s.Committed, c.Txns,
			c.Duration)
	}
	size := evidence.Sizes{Txns: res.Summary.Committed, Sessions: c.Sessions}
	if res.History != nil {
		size = evidence.SizesOf(res.History)
	}
	l.made.addNamed(fmt.Sprintf("%s on %s, %s", Source{Workload: cmp.Or(c.Workload, "blindw"),
		Variant: c.Variant}.Name(),
		res.Summary.DB, cmp.Or(c.Isolation, "its default level")), size)
	return res, nil
}
