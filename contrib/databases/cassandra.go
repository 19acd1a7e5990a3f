package databases

import (
	"errors"
	"net/url"
	"strings"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"isovet/collect/driver"
)

// cassandraStore makes transactions of lightweight ones: all keys stand in one partition, so that one batch can compare
// and write several.
var cassandraStore = driver.Store{
	Scheme: "cassandra",
	Name:   "Cassandra",
	About: "Cassandra, ScyllaDB: cassandra://user:password@host:9042/keyspace; reads, then one conditional batch " +
		"(no test with a server)",
	Isolations: []string{"serializable=ser=default=session-serializable", "none=read-committed=rc"},
	Open:       openCassandra,
	Remote:     true,
	Classify:   cassandraClass,
}

type cassandra struct {
	s    *gocql.Session
	none bool
}

func openCassandra(at, isolation string) (driver.KV, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, errors.New("not a URL; expected cassandra://host:9042/keyspace")
	}
	c := gocql.NewCluster(strings.Split(u.Host, ",")...)
	c.Timeout, c.SerialConsistency, c.Consistency = 10*time.Second, gocql.Serial, gocql.Quorum
	c.DefaultIdempotence = false // no second try behind our back
	if p, ok := u.User.Password(); ok {
		c.Authenticator = gocql.PasswordAuthenticator{Username: u.User.Username(), Password: p}
	}
	if c.Keyspace = strings.Trim(u.Path, "/"); c.Keyspace == "" {
		return nil, errors.New("no keyspace; expected cassandra://host:9042/keyspace with an existing keyspace")
	}
	s, err := c.CreateSession()
	if err != nil {
		return nil, err
	}
	err = s.Query("create table if not exists isovet_keys (p int, k blob, v blob, ver bigint, seen bigint, " +
		"primary key (p, k))").Exec()
	if err != nil {
		s.Close()
		return nil, err
	}
	return &cassandra{s, isolation == "none"}, nil
}

func (c *cassandra) Begin() (driver.KVTxn, error) { return newCompared(c, c.none), nil }

func (c *cassandra) Close() error {
	err := c.s.Query("drop table if exists isovet_keys").Exec()
	c.s.Close()
	return err
}

// get reads behind all lightweight transactions that have begun, where they are used.
func (c *cassandra) get(key string) (value []byte, version int64, err error) {
	q := c.s.Query("select v, ver from isovet_keys where p = 0 and k = ?", []byte(key))
	if !c.none {
		q = q.Consistency(gocql.Serial)
	}
	var ver *int64 // null where the row was only compared
	if err = q.Scan(&value, &ver); errors.Is(err, gocql.ErrNotFound) {
		return nil, 0, nil
	}
	if ver != nil {
		version = *ver
	}
	return value, version, err
}

// apply compares what was read. A key that is written without having been read is read for it: a batch that compares
// nothing would be no lightweight transaction, and those do not go together with others.
func (c *cassandra) apply(were map[string]int64, order []string, wrote map[string][]byte, version int64) (bool, error) {
	b := c.s.Batch(gocql.LoggedBatch)
	for _, k := range order {
		if c.none {
			b = b.Query("update isovet_keys set v = ?, ver = ? where p = 0 and k = ?", wrote[k], version, []byte(k))
			continue
		}
		was, ok := were[k]
		if !ok {
			var err error
			if _, was, err = c.get(k); err != nil {
				return false, err
			}
		}
		b = b.Query("update isovet_keys set v = ?, ver = ? where p = 0 and k = ? if ver = ?", wrote[k], version,
			[]byte(k), null(was))
	}
	if c.none {
		return true, b.Exec()
	}
	for k, was := range were {
		if _, ok := wrote[k]; !ok {
			b = b.Query("update isovet_keys set seen = ? where p = 0 and k = ? if ver = ?", version, []byte(k),
				null(was))
		}
	}
	applied, rows, err := b.ExecCAS()
	if rows != nil {
		err = errors.Join(err, rows.Close())
	}
	return applied, err
}

// null is the version of what is absent.
func null(version int64) any {
	if version == 0 {
		return nil
	}
	return version
}

// cassandraClass: of a write that timed out or failed on some replicas nobody knows whether it will take effect; what
// was refused before it began has had none.
func cassandraClass(err error) driver.Class {
	var timeout *gocql.RequestErrWriteTimeout
	var failed *gocql.RequestErrWriteFailure
	var unknown *gocql.RequestErrCASWriteUnknown
	var unavailable *gocql.RequestErrUnavailable
	var read *gocql.RequestErrReadTimeout
	switch {
	case errors.As(err, &timeout), errors.As(err, &failed), errors.As(err, &unknown):
		return driver.Unclear
	case errors.As(err, &unavailable), errors.As(err, &read):
		return driver.Aborted
	case errors.Is(err, gocql.ErrTimeoutNoResponse), errors.Is(err, gocql.ErrConnectionClosed),
		errors.Is(err, gocql.ErrNoConnections):
		return driver.Lost
	}
	return lost(err)
}
