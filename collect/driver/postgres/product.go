package postgres

import (
	"fmt"
	"regexp"
	"strings"

	"isovet/collect/driver"
)

// forks tell servers that speak PostgreSQL's protocol by their answer to "select version()".
var forks = []struct {
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

// product is the name and version of a server that speaks PostgreSQL's protocol; version is what "select
// version()" answers.
func product(version string, ask driver.Asker) string {
	for _, f := range forks {
		if m := f.is.FindStringSubmatch(version); m != nil {
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
