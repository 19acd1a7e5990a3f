package campaign

import (
	"context"
	"slices"

	"isovet/collect"
	"isovet/collect/server"
)

// running is a server that no hunt uses now.
type running struct {
	name string
	*server.Cluster
}

// mostIdle bounds these servers, since each takes memory.
const mostIdle = 8

// server returns a running server for a cell, or nil if the hunt opens its database itself.
func (p *Campaign) server(ctx context.Context, c *Cell) (*server.Cluster, error) {
	name := c.urls[0]
	if !server.Is(name) || c.fault.Kind == collect.Split || c.fault.Kind == collect.Skew {
		return nil, nil
	}
	p.mu.Lock()
	i := slices.IndexFunc(p.idle, func(s running) bool { return s.name == name })
	if i < 0 {
		p.mu.Unlock()
		return server.Start(ctx, name)
	}
	s := p.idle[i]
	p.idle = slices.Delete(p.idle, i, i+1)
	p.mu.Unlock()
	return s.Cluster, nil
}

// leave keeps the server of a hunt for the next one. It ends the server after an error, or if too many run.
func (p *Campaign) leave(c *Cell, s *server.Cluster, err error) error {
	if s == nil {
		return nil
	}
	if err != nil {
		_ = s.Close() // the hunt's error says more
		return nil
	}
	p.mu.Lock()
	p.idle = append(p.idle, running{c.urls[0], s})
	old := p.idle[0]
	if len(p.idle) <= mostIdle {
		p.mu.Unlock()
		return nil
	}
	p.idle = slices.Delete(p.idle, 0, 1)
	p.mu.Unlock()
	return old.Close()
}
