package driver_test

import (
	"testing"

	"isovet/collect/driver/keyvalue"
	"isovet/collect/driver/mysql"
)

// TestMySQLProducts: servers are called what they are, by what they answered (copied from servers, or from the manuals
// of those that could not be had).
func TestMySQLProducts(t *testing.T) {
	dolt := map[string]string{"select dolt_version()": "1.83.2", "select @@version_comment": "Dolt"}
	galera := map[string]string{"select @@wsrep_on": "1", "select @@wsrep_provider_version": "26.4.23(rd3f5c8e)"}
	tidb := map[string]string{"select tidb_version()": "Release Version: v7.5.0\nEdition: Community"}
	for _, c := range []struct {
		version string
		answers map[string]string
		want    string
	}{
		{"8.0.31", dolt, "Dolt 1.83.2 (says MySQL 8.0.31)"},
		{"10.11.19-MariaDB-0+deb12u1", map[string]string{"select @@wsrep_on": "0"}, "MariaDB 10.11.19"},
		{"10.11.19-MariaDB-0+deb12u1-log", galera, "MariaDB 10.11.19, Galera 26.4.23"},
		{"5.5.5-10.11.6-MariaDB", nil, "MariaDB 10.11.6"},
		{"8.0.11-TiDB-v7.5.0", tidb, "TiDB 7.5.0"},
		{"5.7.25", tidb, "TiDB 7.5.0 (says MySQL 5.7.25)"},
		{"5.7.25-TiDB-v5.4.0-alpha-dirty", nil, "TiDB 5.4.0-alpha-dirty"},
		{"8.0.30-Vitess", nil, "Vitess"},
		{"5.7.25-OceanBase-v4.2.1.0", nil, "OceanBase 4.2.1.0"},
		{"8.0.36-0ubuntu0.22.04.1", nil, "MySQL 8.0.36"},
		{"8.0.36-log", nil, "MySQL 8.0.36"},
		{"9.1.0", map[string]string{"select @@version_comment": "MySQL Community Server - GPL"}, "MySQL 9.1.0"},
		{"8.0.35-27", map[string]string{"select @@version_comment": "Percona Server (GPL), Release 27"},
			"Percona Server 8.0.35"},
	} {
		ask := func(q string) string { return c.answers[q] }
		if got := mysql.Product(c.version, ask); got != c.want {
			t.Errorf("%q is called %q, expected %q", c.version, got, c.want)
		}
	}
}

// TestRedisProducts: the server is called what it is, beside the version of Redis that it tells.
func TestRedisProducts(t *testing.T) {
	for info, want := range map[string]string{
		"# Server\r\nredis_version:7.0.15\r\n":                  "Redis 7.0.15",
		"redis_version:7.2.4\r\nvalkey_version:8.0.1\r\n":       "Valkey 8.0.1 (says Redis 7.2.4)",
		"redis_version:7.4.0\r\ndragonfly_version:df-v1.27.0\n": "Dragonfly 1.27.0 (says Redis 7.4.0)",
	} {
		if got, _ := keyvalue.RedisProduct(info); got != want {
			t.Errorf("%q is called %q, expected %q", info, got, want)
		}
	}
}
