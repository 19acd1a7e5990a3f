package postgres

import (
	"fmt"
	"regexp"
	"strings"

	"isovet/collect/driver"
	"isovet/internal/pattern"
)

// forks recognise servers with PostgreSQL's protocol by their answer to "select version()".
var forks = []struct {
	name string
	is   func() *regexp.Regexp
}{
	{"CockroachDB", pattern.Lazy(`^CockroachDB \S+ (v\S+)`)},
	{"YugabyteDB", pattern.Lazy(`-YB-([0-9]\S*)`)},
	{"H2", pattern.Lazy(`\bH2 ([0-9]\S*)`)},
	{"Redshift", pattern.Lazy(`\bRedshift ([0-9]\S*)`)},
	{"Greenplum", pattern.Lazy(`\bGreenplum Database ([0-9]\S*)`)},
	{"CrateDB", pattern.Lazy(`\bCrateDB ([0-9][^ ,)]*)`)},
	{"Materialize", pattern.Lazy(`\bMaterialize (v?[0-9][^ ,)]*)`)},
	{"QuestDB", pattern.Lazy(`\bQuestDB\b,? ?([0-9.]*)`)},
	{"openGauss", pattern.Lazy(`\bopenGauss ([0-9]\S*)`)},
	{"EDB Postgres Advanced Server", pattern.Lazy(`\bEnterpriseDB Advanced Server ([0-9][^ ,)]*)`)},
}

// product returns the name and version of a server with PostgreSQL's protocol; version is its answer to "select
// version()".
func product(version string, ask driver.Asker) string {
	for _, f := range forks {
		if m := f.is().FindStringSubmatch(version); m != nil {
			return strings.TrimSpace(f.name + " " + m[1])
		}
	}
	if name := driver.ForkName(version); name != "" {
		return name
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
			return fmt.Sprintf("%s %s (says %s)", x.name, driver.ReleaseOf(v), name)
		}
	}
	return name
}
