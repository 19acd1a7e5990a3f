package driver

import (
	"errors"
	"strings"
	"testing"
)

// TestProducts: servers are called what they are, by what they answered (copied from servers, or from the manuals of
// those that could not be had).
func TestProducts(t *testing.T) {
	dolt := map[string]string{"select dolt_version()": "1.83.2", "select @@version_comment": "Dolt"}
	galera := map[string]string{"select @@wsrep_on": "1", "select @@wsrep_provider_version": "26.4.23(rd3f5c8e)"}
	tidb := map[string]string{"select tidb_version()": "Release Version: v7.5.0\nEdition: Community"}
	none := map[string]string{}
	for _, c := range []struct {
		protocol, version string
		answers           map[string]string
		want              string
	}{
		{"mysql", "8.0.31", dolt, "Dolt 1.83.2 (says MySQL 8.0.31)"},
		{"mysql", "10.11.19-MariaDB-0+deb12u1", map[string]string{"select @@wsrep_on": "0"}, "MariaDB 10.11.19"},
		{"mysql", "10.11.19-MariaDB-0+deb12u1-log", galera, "MariaDB 10.11.19, Galera 26.4.23"},
		{"mysql", "5.5.5-10.11.6-MariaDB", none, "MariaDB 10.11.6"},
		{"mysql", "8.0.11-TiDB-v7.5.0", tidb, "TiDB 7.5.0"},
		{"mysql", "5.7.25", tidb, "TiDB 7.5.0 (says MySQL 5.7.25)"},
		{"mysql", "5.7.25-TiDB-v5.4.0-alpha-dirty", none, "TiDB 5.4.0-alpha-dirty"},
		{"mysql", "8.0.30-Vitess", none, "Vitess"},
		{"mysql", "5.7.25-OceanBase-v4.2.1.0", none, "OceanBase 4.2.1.0"},
		{"mysql", "8.0.36-0ubuntu0.22.04.1", none, "MySQL 8.0.36"},
		{"mysql", "8.0.36-log", none, "MySQL 8.0.36"},
		{"mysql", "9.1.0", map[string]string{"select @@version_comment": "MySQL Community Server - GPL"},
			"MySQL 9.1.0"},
		{"mysql", "8.0.35-27", map[string]string{"select @@version_comment": "Percona Server (GPL), Release 27"},
			"Percona Server 8.0.35"},
		{"postgres", "PostgreSQL 15.20 (Debian 15.20-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc", none,
			"PostgreSQL 15.20"},
		{"postgres", "PostgreSQL 18.4 on x86_64-pc-linux-gnu", none, "PostgreSQL 18.4"},
		{"postgres", "PostgreSQL 11.2-YB-2.19.0.0-b0 on x86_64-pc-linux-gnu", none, "YugabyteDB 2.19.0.0-b0"},
		{"postgres", "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27)", none, "CockroachDB v23.1.11"},
		{"postgres", "PostgreSQL 8.2.23 server protocol using H2 2.1.214 (2022-06-13)", none, "H2 2.1.214"},
		{"postgres", "PostgreSQL 8.2.23", map[string]string{"select h2version()": "2.1.214"},
			"H2 2.1.214 (says PostgreSQL 8.2.23)"},
		{"postgres", "PostgreSQL 13.14.0-RisingWave-1.7.0 (d2e1)", none, "RisingWave 1.7.0"},
		{"postgres", "PostgreSQL 16beta1 on x86_64", none, "PostgreSQL 16beta1"},
		{"postgres", "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.62614", none,
			"Redshift 1.0.62614"},
	} {
		ask := func(q string) string { return c.answers[q] }
		got := postgresProduct(c.version, ask)
		if c.protocol == "mysql" {
			got = mysqlProduct(c.version, ask)
		}
		if got != c.want {
			t.Errorf("%s %q is called %q, expected %q", c.protocol, c.version, got, c.want)
		}
	}
	for info, want := range map[string]string{
		"# Server\r\nredis_version:7.0.15\r\n":                  "Redis 7.0.15",
		"redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n":       "Valkey 8.0.1 (says Redis 7.2.4)",
		"redis_version:7.4.0\r\ndragonfly_version:df-v1.27.0\n": "Dragonfly 1.27.0 (says Redis 7.4.0)",
	} {
		if got, _ := redisProduct(info); got != want {
			t.Errorf("%q is called %q, expected %q", info, got, want)
		}
	}
}

// TestClean: a password is taken out of an error where it stands in the URL or as a parameter, and nothing else is, not
// even where the password is a part of a word.
func TestClean(t *testing.T) {
	for _, c := range []struct{ url, text, want string }{
		{"postgres://sa:sa@h/d", "show transaction_isolation: ERROR: sa is not sane (SQLSTATE 42704)", ""},
		{"mysql://root:root@h/d", "Access denied for user 'root'@'localhost' (using password: YES)", ""},
		{"postgres://me:isolation@h/d", "no isolation level", ""},
		{"postgres://sa:sa@h/d", "cannot reach postgres://sa:sa@h/d: sa", "cannot reach postgres://…@h/d: sa"},
		{"mysql://sa:sa@h/d", "invalid DSN sa:sa@tcp(h)/d", "invalid DSN …@tcp(h)/d"},
		{"mysql://me:s3cret-pw@h/d", "odd: s3cret-pw", "odd: …"},
		{"postgres://h/d?user=sa&password=sa", "postgres://h/d?user=sa&password=sa is sad",
			"postgres://h/d?user=sa&password=… is sad"},
		{"postgres://h/d?user=sa&password=Xy_12345", "bad Xy_12345", "bad …"},
		{"postgres://me:pw@h/d", "see https://example.org/a for x@y", ""},
		{"postgres://me:pa/ss1@h/d", "cannot parse: invalid port \":pa\" after host", "not a URL that can be read"},
	} {
		want := c.want
		if want == "" {
			want = c.text
		}
		if got := clean(errors.New(c.text), []string{c.url}).Error(); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q became %q, expected %q", c.url, c.text, got, want)
		}
	}
}
