package keyvalue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"isovet/collect/driver"
	"isovet/collect/driver/dial"
)

func init() { driver.Register(driver.Scheme{Name: "redis"}, openRedis) }

type redisDB struct {
	url   string
	addr  string // host and port, as the dialer sees them
	o     []redis.DialOption
	d     *dial.Dialer
	watch bool
	info  driver.Info
}

func openRedis(ctx context.Context, urls []string, iso string, o driver.Options) (driver.DB, error) {
	if len(urls) > 1 {
		return nil, driver.Unsupported("several nodes of Redis; expected one URL")
	}
	u, err := url.Parse(urls[0])
	if err != nil {
		return nil, err
	}
	r := &redisDB{url: urls[0], d: dial.New(o.Timeout), watch: iso != "none"}
	r.addr = net.JoinHostPort(cmp.Or(u.Hostname(), "localhost"), cmp.Or(u.Port(), "6379"))
	r.o = []redis.DialOption{redis.DialContextFunc(r.d.Dial), redis.DialReadTimeout(o.Timeout),
		redis.DialWriteTimeout(o.Timeout)}
	var text string
	if err := r.with(ctx, func(c redis.Conn) (err error) {
		text, err = redis.String(c.Do("INFO", "server"))
		return err
	}); err != nil {
		return nil, err
	}
	r.info = driver.Info{Isolation: "WATCH and MULTI", Nodes: []driver.Node{{Name: o.Nodes[0]}}}
	if !r.watch {
		r.info.Isolation = "MULTI without WATCH"
	}
	r.info.Name, r.info.Version = RedisProduct(text)
	return r, nil
}

// with runs f on a new connection.
func (r *redisDB) with(ctx context.Context, f func(redis.Conn) error) error {
	c, err := redis.DialURLContext(ctx, r.url, r.o...)
	if err != nil {
		return err
	}
	return errors.Join(f(c), c.Close())
}

func (r *redisDB) Info() driver.Info { return r.info }
func (r *redisDB) Cut()              { r.d.Cut() }

func (r *redisDB) Partition(_ int, off bool) bool {
	r.d.Partition(r.addr, off)
	return true
}

// clearRedis removes isovet's keys.
func clearRedis(c redis.Conn) error {
	var keys []any
	for cursor := "0"; ; {
		answer, err := redis.Values(c.Do("SCAN", cursor, "MATCH", driver.KeyPrefix+"*", "COUNT", 1000))
		if err != nil {
			return err
		}
		var some [][]byte
		if _, err := redis.Scan(answer, &cursor, &some); err != nil {
			return err
		}
		for _, k := range some {
			keys = append(keys, k)
		}
		if cursor == "0" {
			break
		}
	}
	for some := range slices.Chunk(keys, 1000) {
		if _, err := c.Do("DEL", some...); err != nil {
			return err
		}
	}
	return nil
}

func (r *redisDB) Load(ctx context.Context, d driver.Data) error {
	if len(d.Tables) > 0 {
		return driver.Unsupported("predicates; %s has no conditions on columns", r.info.Name)
	}
	return r.with(ctx, func(c redis.Conn) error {
		if err := clearRedis(c); err != nil {
			return err
		}
		var pairs []any
		for k, row := range d.Rows {
			pairs = append(pairs, driver.KVKey(driver.RowPrefix, k), driver.RowText(row))
		}
		for some := range slices.Chunk(pairs, 2000) {
			if _, err := c.Do("MSET", some...); err != nil {
				return err
			}
		}
		return nil
	})
}

func (r *redisDB) Close() error { return r.with(context.Background(), clearRedis) }

var errWatched = errors.New("EXEC: a watched key was changed")

// Classify takes the answer nil for a refusal: EXEC returns it if a watched key has changed.
func (r *redisDB) Classify(err error) driver.Class {
	var e redis.Error
	switch {
	case errors.Is(err, errWatched):
		return driver.Aborted
	case errors.As(err, &e):
		if strings.HasPrefix(e.Error(), "LOADING") || strings.HasPrefix(e.Error(), "MASTERDOWN") {
			return driver.Lost
		}
		return driver.Fatal
	case dial.Lost(err):
		return driver.Lost
	}
	return driver.Fatal
}

func (r *redisDB) Connect(ctx context.Context, _ int) (driver.Session, error) {
	c, err := redis.DialURLContext(ctx, r.url, r.o...)
	if err != nil {
		return nil, err
	}
	if _, err := c.Do("PING"); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	t := &redisTxn{db: r, c: c, written: map[string][]byte{}}
	return &redisSession{driver.KVOps{Texts: t}, t}, nil
}

type redisSession struct {
	driver.KVOps
	t *redisTxn
}

// redisTxn buffers its writes until the commit and reads its own.
type redisTxn struct {
	db      *redisDB
	c       redis.Conn
	written map[string][]byte
	order   []string
}

func (t *redisTxn) GetText(key []byte) (string, bool, error) {
	if v, ok := t.written[string(key)]; ok {
		return string(v), true, nil
	}
	if t.db.watch {
		if err := t.c.Send("WATCH", key); err != nil {
			return "", false, err
		}
	}
	v, err := redis.String(t.c.Do("GET", key)) // it also receives the answer to WATCH, with its error
	if errors.Is(err, redis.ErrNil) {
		return "", false, nil
	}
	return v, err == nil, err
}

func (t *redisTxn) PutText(key, value []byte) error {
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

// Commit sends an EXEC even without writes, to check that the keys that it read have not changed.
func (s *redisSession) Commit() error {
	c := s.t.c
	err := errors.Join(c.Send("MULTI"), c.Send("ECHO", "isovet"))
	for _, k := range s.t.order {
		err = errors.Join(err, c.Send("SET", k, s.t.written[k]))
	}
	if err != nil {
		return err
	}
	done, err := redis.Values(c.Do("EXEC"))
	if errors.Is(err, redis.ErrNil) {
		return errWatched
	}
	for _, answer := range done {
		if e, ok := answer.(redis.Error); ok {
			err = errors.Join(err, e)
		}
	}
	if err != nil {
		return fmt.Errorf("exec: %w", err)
	}
	return nil
}

func (s *redisSession) Rollback() error {
	s.t.forget()
	_, err := s.t.c.Do("UNWATCH")
	return err
}

func (s *redisSession) Close() { _ = s.t.c.Close() }

// RedisProduct returns the name and version of a server with Redis' protocol, from its answer to "INFO server".
// Valkey, Dragonfly and KeyDB also give a version of Redis, for old clients.
func RedisProduct(info string) (name, says string) {
	fields := map[string]string{}
	for line := range strings.Lines(info) {
		if k, v, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[k] = v
		}
	}
	says = strings.TrimSpace("Redis " + fields["redis_version"])
	for _, f := range []struct{ name, field string }{
		{"Valkey", "valkey_version"}, {"Dragonfly", "dragonfly_version"}, {"KeyDB", "keydb_version"},
	} {
		if v := strings.TrimPrefix(strings.TrimPrefix(fields[f.field], "df-"), "v"); v != "" {
			return fmt.Sprintf("%s %s (says %s)", f.name, v, says), says
		}
	}
	return says, says
}
