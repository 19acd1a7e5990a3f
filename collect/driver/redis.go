package driver

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"
)

var redisScheme = Scheme{
	Name:  "redis",
	URLs:  []string{"redis", "rediss"},
	About: "Redis: WATCH, reads, then MULTI and EXEC with the writes",
	Isolations: []string{
		"serializable=ser=default=watch=session-serializable=strict-serializable",
		"none=read-committed=rc", // no WATCH
	},
	open: openRedis,
}

type redisDB struct {
	c     *redis.Client
	d     *dialer
	watch bool
	info  Info
}

func openRedis(ctx context.Context, urls []string, iso string, o Options) (DB, error) {
	if len(urls) > 1 {
		return nil, unsupported("several nodes of Redis; expected one URL")
	}
	if o.Timestamps {
		return nil, unsupported("Redis does not tell its timestamps; expected PostgreSQL, Badger or etcd with " +
			"--timestamps")
	}
	opt, err := redis.ParseURL(urls[0])
	if err != nil {
		return nil, err
	}
	r := &redisDB{d: newDialer(o.Timeout), watch: iso != "none"}
	opt.Dialer = r.d.dial
	opt.MaxRetries = -1 // a second EXEC would be a second transaction
	opt.DialTimeout, opt.ReadTimeout, opt.WriteTimeout = o.Timeout, o.Timeout, o.Timeout
	opt.PoolSize = 10000 // a session keeps its connection
	opt.MinIdleConns = 0
	r.c = redis.NewClient(opt)
	text, err := r.c.Info(ctx, "server").Result()
	if err != nil {
		return nil, errors.Join(err, r.c.Close())
	}
	r.info = Info{Name: "Redis", Isolation: "WATCH and MULTI", Nodes: []Node{{Name: o.Nodes[0]}}}
	if !r.watch {
		r.info.Isolation = "MULTI without WATCH"
	}
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(strings.TrimSpace(line), "redis_version:"); ok {
			r.info.Name += " " + v
		}
	}
	return r, nil
}

func (r *redisDB) Info() Info { return r.info }
func (r *redisDB) Cut()       { r.d.cut() }

func (r *redisDB) Partition(_ int, off bool) bool {
	r.d.partition(r.c.Options().Addr, off)
	return true
}

// clear removes our keys.
func (r *redisDB) clear(ctx context.Context) error {
	it := r.c.Scan(ctx, 0, prefix+"*", 1000).Iterator()
	var keys []string
	for it.Next(ctx) {
		keys = append(keys, it.Val())
	}
	if err := it.Err(); err != nil {
		return err
	}
	for len(keys) > 0 {
		n := min(len(keys), 1000)
		if err := r.c.Del(ctx, keys[:n]...).Err(); err != nil {
			return err
		}
		keys = keys[n:]
	}
	return nil
}

func (r *redisDB) Load(ctx context.Context, d Data) error {
	if len(d.Tables) > 0 {
		return unsupported("predicates; %s has no conditions on columns", r.info.Name)
	}
	if err := r.clear(ctx); err != nil {
		return err
	}
	var pairs []any
	flush := func() error {
		if len(pairs) == 0 {
			return nil
		}
		err := r.c.MSet(ctx, pairs...).Err()
		pairs = pairs[:0]
		return err
	}
	for k, row := range d.Rows {
		if pairs = append(pairs, kvKey(rowPrefix, k), rowText(row)); len(pairs) == 2000 {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (r *redisDB) Close() error {
	err := r.clear(context.Background())
	return errors.Join(err, r.c.Close())
}

// Classify: an EXEC that finds a watched key changed answers nil.
func (r *redisDB) Classify(err error) Class {
	var e redis.Error
	switch {
	case errors.Is(err, redis.TxFailedErr):
		return Aborted
	case errors.As(err, &e):
		if strings.HasPrefix(e.Error(), "LOADING") || strings.HasPrefix(e.Error(), "MASTERDOWN") {
			return Lost
		}
		return Fatal
	case lost(err), errors.Is(err, redis.ErrClosed):
		return Lost
	}
	return Fatal
}

func (r *redisDB) Connect(ctx context.Context, _ int) (Session, error) {
	c := r.c.Conn()
	if err := c.Ping(ctx).Err(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	t := &redisTxn{db: r, c: c, written: map[string][]byte{}}
	return &redisSession{kvOps{t}, t}, nil
}

type redisSession struct {
	kvOps
	t *redisTxn
}

// redisTxn keeps the writes until the commit and reads its own.
type redisTxn struct {
	db      *redisDB
	c       *redis.Conn
	written map[string][]byte
	order   []string
}

func (t *redisTxn) get(key []byte) (string, bool, error) {
	if v, ok := t.written[string(key)]; ok {
		return string(v), true, nil
	}
	ctx := context.Background()
	var got *redis.StringCmd
	_, err := t.c.Pipelined(ctx, func(p redis.Pipeliner) error {
		if t.db.watch {
			p.Do(ctx, "watch", key)
		}
		got = p.Get(ctx, string(key))
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return "", false, err
	}
	v, err := got.Result()
	if errors.Is(err, redis.Nil) {
		return "", false, nil
	}
	return v, true, err
}

func (t *redisTxn) put(key, value []byte) error {
	if _, ok := t.written[string(key)]; !ok {
		t.order = append(t.order, string(key))
	}
	t.written[string(key)] = value
	return nil
}

func (s *redisSession) Begin() error { s.t.forget(); return nil }

func (t *redisTxn) forget() {
	clear(t.written)
	t.order = t.order[:0]
}

// Commit sends an EXEC even where nothing is written: what was read must still be so.
func (s *redisSession) Commit() error {
	ctx := context.Background()
	_, err := s.t.c.TxPipelined(ctx, func(p redis.Pipeliner) error {
		p.Do(ctx, "echo", "isovet")
		for _, k := range s.t.order {
			p.Set(ctx, k, s.t.written[k], 0)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.TxFailedErr) {
		return fmt.Errorf("exec: %w", err)
	}
	return err
}

func (s *redisSession) Rollback() error {
	s.t.forget()
	return s.t.c.Do(context.Background(), "unwatch").Err()
}

func (s *redisSession) Close() { _ = s.t.c.Close() }
