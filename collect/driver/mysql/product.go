package mysql

import (
	"fmt"
	"strings"

	"isovet/collect/driver"
	"isovet/internal/pattern"
)

// Product returns the name and version of a server with MySQL's protocol. version is its answer to "select version()",
// which is also in the handshake. Many servers name a version of MySQL there, for their clients; Product recognises
// them by functions and variables that only they have.
func Product(version string, ask driver.Asker) string {
	number, rest, _ := strings.Cut(version, "-")
	says := func(name string) string { return fmt.Sprintf("%s (says MySQL %s)", name, number) }
	if strings.Contains(rest, "MariaDB") {
		if m := mariadbOwn().FindStringSubmatch(version); m != nil { // it may follow "5.5.5-", for replicas
			number = m[1]
		}
		name := "MariaDB " + number
		if g := ask("select @@wsrep_provider_version"); g != "" && ask("select @@wsrep_on") == "1" {
			g, _, _ = strings.Cut(g, "(")
			name += ", Galera " + g
		}
		return name
	}
	if name := driver.ForkName(version); name != "" {
		return name
	}
	for _, f := range []struct{ name, ask string }{
		{"Dolt", "select dolt_version()"},
		{"TiDB", "select tidb_version()"},
		{"SingleStore", "select @@memsql_version"},
		{"OceanBase", "select ob_version()"},
		{"Aurora MySQL", "select @@aurora_version"},
	} {
		if v := ask(f.ask); v != "" {
			return says(f.name + " " + driver.ReleaseOf(v))
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

var mariadbOwn = pattern.Lazy(`([0-9][0-9.]*)-MariaDB`)
