//go:build !offline

package driver

import (
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
)

// asker asks a server for the first value of a statement's first row; "" where it refuses.
type asker func(statement string) string

// own finds the name and version that a fork or a re-implementation puts behind those of the database whose clients it
// serves: "8.0.30-Vitess", "5.7.25-TiDB-v5.4.0", "PostgreSQL 13.14.0-RisingWave-1.7.0 (…)".
var own = regexp.MustCompile(`^(?:PostgreSQL )?[0-9][0-9.]*-([A-Za-z]{3,})(?:-?[vV]?([0-9][^ ,]*))?`)

// notOwn are the words of that place which name a build and not a product.
var notOwn = regexp.MustCompile(`(?i)^(?:log|debug|ubuntu|debian|deb|beta|alpha|rc|dmr|server|community|enterprise|ndb|` +
	`cluster|release|dev|devel|standard|google|azure|rds|commercial|snapshot|nightly|p?gdg|el)$`)

// mysqlProduct is the name and version of a server that speaks MySQL's protocol. version is what "select version()"
// answers, which is what the handshake says too: many answer with a version of MySQL, for the sake of clients, and are
// told by functions and variables that they alone have.
func mysqlProduct(version string, ask asker) string {
	number, rest, _ := strings.Cut(version, "-")
	says := func(name string) string { return fmt.Sprintf("%s (says MySQL %s)", name, number) }
	if strings.Contains(rest, "MariaDB") {
		if m := mariadbOwn.FindStringSubmatch(version); m != nil { // behind "5.5.5-", for the sake of replicas
			number = m[1]
		}
		name := "MariaDB " + number
		if g := ask("select @@wsrep_provider_version"); g != "" && ask("select @@wsrep_on") == "1" {
			g, _, _ = strings.Cut(g, "(")
			name += ", Galera " + g
		}
		return name
	}
	if m := own.FindStringSubmatch(version); m != nil && !notOwn.MatchString(m[1]) {
		return strings.TrimSpace(m[1] + " " + m[2])
	}
	for _, f := range []struct{ name, ask string }{
		{"Dolt", "select dolt_version()"},
		{"TiDB", "select tidb_version()"},
		{"SingleStore", "select @@memsql_version"},
		{"OceanBase", "select ob_version()"},
		{"Aurora MySQL", "select @@aurora_version"},
	} {
		if v := ask(f.ask); v != "" {
			return says(f.name + " " + releaseOf(v))
		}
	}
	comment := ask("select @@version_comment")
	for _, name := range []string{"Dolt", "Percona Server", "Vitess", "StarRocks", "Doris", "MatrixOne", "OceanBase",
		"PolarDB", "go-mysql-server", "H2"} {
		if strings.Contains(strings.ToLower(comment), strings.ToLower(name)) {
			if name == "Percona Server" {
				return name + " " + number
			}
			return says(name)
		}
	}
	return "MySQL " + number
}

var mariadbOwn = regexp.MustCompile(`([0-9][0-9.]*)-MariaDB`)

var releaseLine = regexp.MustCompile(`(?i)release version:\s*(\S+)`)

// releaseOf is the version in an answer that may be a text of several lines, as TiDB's is.
func releaseOf(v string) string {
	if m := releaseLine.FindStringSubmatch(v); m != nil {
		return strings.TrimPrefix(m[1], "v")
	}
	v, _, _ = strings.Cut(strings.TrimSpace(v), "\n")
	return v
}

// postgresForks tell servers that speak PostgreSQL's protocol by their answer to "select version()".
var postgresForks = []struct {
	name string
	is   *regexp.Regexp
}{
	{"CockroachDB", regexp.MustCompile(`^CockroachDB \S+ (v\S+)`)},
	{"YugabyteDB", regexp.MustCompile(`-YB-([0-9]\S*)`)},
	{"H2", regexp.MustCompile(`\bH2 ([0-9]\S*)`)},
	{"Redshift", regexp.MustCompile(`\bRedshift ([0-9]\S*)`)},
	{"Greenplum", regexp.MustCompile(`\bGreenplum Database ([0-9]\S*)`)},
	{"CrateDB", regexp.MustCompile(`\bCrateDB ([0-9][^ ,)]*)`)},
	{"Materialize", regexp.MustCompile(`\bMaterialize (v?[0-9][^ ,)]*)`)},
	{"QuestDB", regexp.MustCompile(`\bQuestDB\b,? ?([0-9.]*)`)},
	{"openGauss", regexp.MustCompile(`\bopenGauss ([0-9]\S*)`)},
	{"EDB Postgres Advanced Server", regexp.MustCompile(`\bEnterpriseDB Advanced Server ([0-9][^ ,)]*)`)},
}

// postgresProduct is the name and version of a server that speaks PostgreSQL's protocol; version is what "select
// version()" answers.
func postgresProduct(version string, ask asker) string {
	for _, f := range postgresForks {
		if m := f.is.FindStringSubmatch(version); m != nil {
			return strings.TrimSpace(f.name + " " + m[1])
		}
	}
	if m := own.FindStringSubmatch(version); m != nil && !notOwn.MatchString(m[1]) {
		return strings.TrimSpace(m[1] + " " + m[2])
	}
	f := strings.Fields(version)
	if len(f) < 2 || f[0] != "PostgreSQL" {
		return version
	}
	name := f[0] + " " + strings.TrimSuffix(f[1], ",")
	for _, x := range []struct{ name, ask string }{
		{"H2", "select h2version()"}, {"DoltgreSQL", "select dolt_version()"},
		{"Aurora PostgreSQL", "select aurora_version()"},
	} {
		if v := ask(x.ask); v != "" {
			return fmt.Sprintf("%s %s (says %s)", x.name, releaseOf(v), name)
		}
	}
	return name
}

// refusal is what a server says where it does not take a statement; "": it took it.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return first
}

// redisProduct is the name and version of a server that speaks Redis' protocol, of what "INFO server" answers: Valkey,
// Dragonfly and KeyDB tell a version of Redis too, for the sake of clients.
func redisProduct(info string) (name, says string) {
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

// moduleVersion is the version of a module that this program is linked with; "" where it does not say.
func moduleVersion(path string) string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range b.Deps {
		if m.Path == path {
			return m.Path + " " + m.Version
		}
	}
	return ""
}
