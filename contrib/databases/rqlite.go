package databases

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"isovet/collect/driver"
)

// rqliteStore speaks rqlite's HTTP interface, whose transactions are one request: what was read is compared in it.
var rqliteStore = driver.Store{
	Scheme: "rqlite",
	Name:   "rqlite",
	About: "rqlite: rqlite://user:password@host:4001?level=weak; reads, then one request that compares and writes " +
		"(no test with a server)",
	Isolations: []string{"serializable=ser=default=session-serializable", "none=read-committed=rc"},
	Open:       openRqlite,
	Remote:     true,
	Classify:   lost,
}

type rqlite struct {
	base, level string
	user        *url.Userinfo
	none        bool
	http        *http.Client
}

func openRqlite(at, isolation string) (driver.KV, error) {
	u, err := url.Parse(at)
	if err != nil || u.Host == "" {
		return nil, errors.New("not a URL; expected rqlite://host:4001")
	}
	r := &rqlite{base: "http://" + u.Host, level: "weak", user: u.User, none: isolation == "none",
		http: &http.Client{Timeout: 10 * time.Second}}
	if l := u.Query().Get("level"); l != "" {
		r.level = l
	}
	if u.Query().Has("tls") {
		r.base = "https://" + u.Host
	}
	_, err = r.call("/db/execute", [][]any{
		{"create table if not exists isovet_keys(k text primary key, v text, ver integer)"},
		// A row of 1 cannot be had: to insert one is to refuse the whole request.
		{"create table if not exists isovet_same(changed integer check (changed = 0))"}})
	return r, err
}

type rqliteAnswer struct {
	Error  string
	Values [][]json.RawMessage
}

// call sends statements, each with its arguments; an error of one of them is in its answer.
func (r *rqlite) call(path string, statements [][]any) ([]rqliteAnswer, error) {
	body, err := json.Marshal(statements)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequest(http.MethodPost, r.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.GetBody = nil // no second try behind our back
	req.Header.Set("Content-Type", "application/json")
	if p, ok := r.user.Password(); ok {
		req.SetBasicAuth(r.user.Username(), p)
	}
	res, err := r.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var all struct {
		Results []rqliteAnswer
		Error   string
	}
	if err := json.NewDecoder(res.Body).Decode(&all); err != nil {
		return nil, fmt.Errorf("rqlite answers %s: %w", res.Status, err)
	}
	if all.Error != "" || res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("rqlite answers %s: %s", res.Status, all.Error)
	}
	for _, a := range all.Results {
		if strings.Contains(a.Error, "CHECK constraint") {
			return nil, driver.ErrConflict
		}
		if a.Error != "" {
			return nil, errors.New("rqlite: " + a.Error)
		}
	}
	return all.Results, nil
}

func (r *rqlite) Begin() (driver.KVTxn, error) { return newCompared(r, r.none), nil }

func (r *rqlite) Close() error {
	_, err := r.call("/db/execute", [][]any{{"drop table if exists isovet_keys"}, {"drop table if exists isovet_same"}})
	return err
}

func (r *rqlite) get(key string) ([]byte, int64, error) {
	all, err := r.call("/db/query?level="+url.QueryEscape(r.level), [][]any{
		{"select v, ver from isovet_keys where k = ?", hex.EncodeToString([]byte(key))}})
	if err != nil || len(all) == 0 || len(all[0].Values) == 0 {
		return nil, 0, err
	}
	row := all[0].Values[0]
	if len(row) != 2 {
		return nil, 0, fmt.Errorf("rqlite: a row of %d columns, expected 2", len(row))
	}
	var v string
	var version int64
	err = errors.Join(json.Unmarshal(row[0], &v), json.Unmarshal(row[1], &version))
	return []byte(v), version, err
}

func (r *rqlite) apply(were map[string]int64, order []string, wrote map[string][]byte, version int64) (bool, error) {
	var all [][]any
	for k, was := range were {
		all = append(all, []any{"insert into isovet_same select 1 where coalesce((select ver from isovet_keys " +
			"where k = ?), 0) <> ?", hex.EncodeToString([]byte(k)), was})
	}
	for _, k := range order {
		all = append(all, []any{"insert into isovet_keys values (?, ?, ?) on conflict (k) do update set " +
			"v = excluded.v, ver = excluded.ver", hex.EncodeToString([]byte(k)), string(wrote[k]), version})
	}
	_, err := r.call("/db/execute?transaction", all)
	if errors.Is(err, driver.ErrConflict) {
		return false, nil
	}
	return err == nil, err
}
