// Package keyvalue has the drivers of key-value stores: etcd, Redis, Badger.
//
// Experimental: this package may still change.
package keyvalue

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"isovet/collect/driver"
	"isovet/collect/driver/dial"
)

func init() { driver.Register(driver.Scheme{Name: "etcd", Code: etcdCode}, openEtcd) }

// etcdDB uses etcd's JSON gateway, which all servers of the last years have. The gRPC client would be by far the
// largest dependency of isovet.
type etcdDB struct {
	d     *dial.Dialer
	urls  []string // of the nodes, scheme://host
	user  *url.Userinfo
	token string
	iso   string
	o     driver.Options
	info  driver.Info
}

func openEtcd(ctx context.Context, urls []string, iso string, o driver.Options) (driver.DB, error) {
	e := &etcdDB{d: dial.New(o.Timeout), iso: iso, o: o, info: driver.Info{Isolation: map[string]string{
		"serializable": "reads compared", "snapshot-isolation": "writes compared", "none": "nothing compared",
	}[iso]}}
	for i, s := range urls {
		u, err := url.Parse(s)
		if err != nil || u.Host == "" {
			return nil, errors.New("not a URL; expected etcd://host:2379")
		}
		scheme := "http"
		if u.Scheme == "etcds" {
			scheme = "https"
		}
		if u.Port() == "" {
			u.Host += ":2379"
		}
		e.urls = append(e.urls, scheme+"://"+u.Host)
		e.user = u.User
		e.info.Nodes = append(e.info.Nodes, driver.Node{Name: o.Nodes[i]})
	}
	s := e.session(0)
	defer s.Close()
	if e.user != nil {
		pw, _ := e.user.Password()
		var r struct{ Token string }
		if err := s.call("auth/authenticate", map[string]string{"name": e.user.Username(), "password": pw},
			&r); err != nil {
			return nil, err
		}
		e.token = r.Token
	}
	var status struct{ Version string }
	if err := s.call("maintenance/status", struct{}{}, &status); err != nil {
		return nil, err
	}
	e.info.Name, e.info.Version = "etcd "+status.Version, status.Version
	return e, ctx.Err()
}

func (e *etcdDB) Info() driver.Info { return e.info }
func (e *etcdDB) Cut()              { e.d.Cut() }

func (e *etcdDB) Partition(node int, off bool) bool {
	_, addr, _ := strings.Cut(e.urls[node], "://")
	e.d.Partition(addr, off)
	return true
}

// session makes a session with one connection of its own.
func (e *etcdDB) session(node int) *etcdSession {
	t := &etcdTxn{e: e, base: e.urls[node], written: map[string][]byte{}, read: map[string]int64{}}
	t.http = &http.Client{Timeout: e.o.Timeout, Transport: &http.Transport{
		DialContext: e.d.Dial, MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, DisableCompression: true,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}}
	return &etcdSession{driver.KVOps{Texts: t}, t}
}

// etcdError is an answer other than 200.
type etcdError struct {
	status int
	Text   string `json:"error"`
	Code   int    `json:"code"`
}

func (e *etcdError) Error() string { return fmt.Sprintf("etcd answers %d: %s", e.status, e.Text) }

// call sends a request to the JSON gateway.
func (t *etcdTxn) call(path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, t.base+"/v3/"+path,
		bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.GetBody = nil // no hidden retry
	if t.e.token != "" {
		req.Header.Set("Authorization", t.e.token)
	}
	res, err := t.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		e := &etcdError{status: res.StatusCode}
		if json.Unmarshal(b, e) != nil || e.Text == "" {
			e.Text = strings.TrimSpace(string(b))
		}
		return e
	}
	return json.Unmarshal(b, out)
}

func (s *etcdSession) call(path string, in, out any) error { return s.t.call(path, in, out) }

// revision is an integer that the gateway writes as a string.
type revision int64

func (r *revision) UnmarshalJSON(b []byte) error {
	n, err := strconv.ParseInt(strings.Trim(string(b), `"`), 10, 64)
	*r = revision(n)
	return err
}

func (r revision) MarshalJSON() ([]byte, error) {
	return []byte(`"` + strconv.FormatInt(int64(r), 10) + `"`), nil
}

type etcdHeader struct{ Revision revision }

type etcdRange struct {
	Key      []byte   `json:"key"`
	Revision revision `json:"revision,omitempty"`
}

type etcdRangeAnswer struct {
	Header etcdHeader
	Kvs    []struct {
		Value       []byte
		ModRevision revision `json:"mod_revision"`
	}
}

type etcdPut struct {
	Key   []byte `json:"key"`
	Value []byte `json:"value"`
}

type etcdCompare struct {
	Key         []byte   `json:"key"`
	Target      string   `json:"target"`
	Result      string   `json:"result"`
	ModRevision revision `json:"mod_revision"`
}

type etcdOp struct {
	Put *etcdPut `json:"request_put,omitempty"`
}

type etcdTxnRequest struct {
	Compare []etcdCompare `json:"compare,omitempty"`
	Success []etcdOp      `json:"success,omitempty"`
}

type etcdTxnAnswer struct {
	Header    etcdHeader
	Succeeded bool
}

// clear removes isovet's keys.
func (e *etcdDB) clear(s *etcdSession) error {
	end := []byte(driver.KeyPrefix)
	end[len(end)-1]++
	var r struct{}
	return s.call("kv/deleterange", map[string][]byte{"key": []byte(driver.KeyPrefix), "range_end": end}, &r)
}

const etcdMaxOps = 128 // of a transaction, etcd's default

func (e *etcdDB) Load(ctx context.Context, d driver.Data) error {
	if len(d.Tables) > 0 {
		return driver.Unsupported("predicates; %s has no conditions on columns", e.info.Name)
	}
	s := e.session(0)
	defer s.Close()
	if err := e.clear(s); err != nil {
		return err
	}
	var ops []etcdOp
	flush := func() error {
		if len(ops) == 0 {
			return nil
		}
		var r etcdTxnAnswer
		err := s.call("kv/txn", etcdTxnRequest{Success: ops}, &r)
		ops = ops[:0]
		return errors.Join(err, ctx.Err())
	}
	for k, r := range d.Rows {
		ops = append(ops, etcdOp{Put: &etcdPut{driver.KVKey(driver.RowPrefix, k), driver.RowText(r)}})
		if len(ops) == etcdMaxOps {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return flush()
}

func (e *etcdDB) Close() error {
	s := e.session(0)
	defer e.Cut()
	defer s.Close()
	return e.clear(s)
}

var errChanged = errors.New("a compared key has changed")

// Classify takes a failed comparison for a refusal. After a time-out of the server or a change of leader, the outcome
// of a commit is unknown.
func (e *etcdDB) Classify(err error) driver.Class {
	var a *etcdError
	switch {
	case errors.Is(err, errChanged):
		return driver.Aborted
	case errors.As(err, &a):
		if a.status >= 500 || a.Code == 14 || a.Code == 4 || a.Code == 1 {
			return driver.Unclear
		}
		return driver.Fatal
	case dial.Lost(err):
		return driver.Lost
	}
	var u *url.Error
	if errors.As(err, &u) {
		return driver.Lost
	}
	return driver.Fatal
}

func (e *etcdDB) Connect(_ context.Context, node int) (driver.Session, error) {
	s := e.session(node)
	var r etcdRangeAnswer
	if err := s.call("kv/range", etcdRange{Key: []byte(driver.KeyPrefix)}, &r); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

type etcdSession struct {
	driver.KVOps
	t *etcdTxn
}

// etcdTxn reads at the revision of its first read and buffers its writes until the commit.
type etcdTxn struct {
	e       *etcdDB
	http    *http.Client
	base    string
	at      revision // 0: nothing read yet
	commit  revision // 0: none
	written map[string][]byte
	order   []string
	read    map[string]int64 // key → revision of its last change, 0: absent
}

func (s *etcdSession) Begin() error { s.t.forget(); return nil }

func (t *etcdTxn) forget() {
	clear(t.written)
	clear(t.read)
	t.order, t.at, t.commit = t.order[:0], 0, 0
}

func (t *etcdTxn) GetText(key []byte) (string, bool, error) {
	if v, ok := t.written[string(key)]; ok {
		return string(v), true, nil
	}
	var r etcdRangeAnswer
	if err := t.call("kv/range", etcdRange{key, t.at}, &r); err != nil {
		return "", false, err
	}
	t.at = cmp.Or(t.at, r.Header.Revision)
	if len(r.Kvs) == 0 {
		t.read[string(key)] = 0
		return "", false, nil
	}
	t.read[string(key)] = int64(r.Kvs[0].ModRevision)
	return string(r.Kvs[0].Value), true, nil
}

func (t *etcdTxn) PutText(key, value []byte) error {
	if _, ok := t.written[string(key)]; !ok {
		t.order = append(t.order, string(key))
	}
	t.written[string(key)] = value
	return nil
}

func (s *etcdSession) Commit() error {
	t := s.t
	if len(t.order) == 0 {
		return nil // all reads are of one revision
	}
	var q etcdTxnRequest
	switch {
	case t.e.iso == "serializable":
		for k, rev := range t.read {
			q.Compare = append(q.Compare, etcdCompare{[]byte(k), "MOD", "EQUAL", revision(rev)})
		}
	case t.e.iso == "snapshot-isolation" && t.at != 0:
		for _, k := range t.order {
			q.Compare = append(q.Compare, etcdCompare{[]byte(k), "MOD", "LESS", t.at + 1})
		}
	}
	for _, k := range t.order {
		q.Success = append(q.Success, etcdOp{Put: &etcdPut{[]byte(k), t.written[k]}})
	}
	var r etcdTxnAnswer
	if err := t.call("kv/txn", q, &r); err != nil {
		return err
	}
	if !r.Succeeded {
		return errChanged
	}
	t.commit = r.Header.Revision
	return nil
}

func (s *etcdSession) Rollback() error { s.t.forget(); return nil }
func (s *etcdSession) Close()          { s.t.http.CloseIdleConnections() }

// Stamp makes commits even numbers and snapshots odd ones, since a snapshot at revision r sees the commits up to r. If
// a transaction read nothing, its snapshot is just before its commit.
func (s *etcdSession) Stamp() driver.Stamp {
	t := s.t
	st := driver.Stamp{Start: driver.NoTime, Commit: driver.NoTime}
	if t.at != 0 {
		st.Start = 2*int64(t.at) + 1
	}
	switch {
	case t.commit != 0:
		st.Commit = 2 * int64(t.commit)
		if t.at == 0 {
			st.Start = st.Commit - 1
		}
	case len(t.order) == 0:
		st.Commit = st.Start
	}
	return st
}

// Resolve has nothing to add: the revisions are the timestamps.
func (e *etcdDB) Resolve(context.Context, []driver.Stamped) error { return nil }

// etcdCode returns the gRPC code of an error.
func etcdCode(err error) string {
	var e *etcdError
	if !errors.As(err, &e) {
		return ""
	}
	return strconv.Itoa(e.Code)
}
