package postgres

import "testing"

// TestProducts: servers are called what they are, by what they answered (copied from servers, or from the manuals of
// those that could not be had).
func TestProducts(t *testing.T) {
	for _, c := range []struct {
		version string
		answers map[string]string
		want    string
	}{
		{"PostgreSQL 15.20 (Debian 15.20-0+deb12u1) on x86_64-pc-linux-gnu, compiled by gcc", nil,
			"PostgreSQL 15.20"},
		{"PostgreSQL 18.4 on x86_64-pc-linux-gnu", nil, "PostgreSQL 18.4"},
		{"PostgreSQL 11.2-YB-2.19.0.0-b0 on x86_64-pc-linux-gnu", nil, "YugabyteDB 2.19.0.0-b0"},
		{"CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu, built 2023/09/27)", nil, "CockroachDB v23.1.11"},
		{"PostgreSQL 8.2.23 server protocol using H2 2.1.214 (2022-06-13)", nil, "H2 2.1.214"},
		{"PostgreSQL 8.2.23", map[string]string{"select h2version()": "2.1.214"},
			"H2 2.1.214 (says PostgreSQL 8.2.23)"},
		{"PostgreSQL 13.14.0-RisingWave-1.7.0 (d2e1)", nil, "RisingWave 1.7.0"},
		{"PostgreSQL 16beta1 on x86_64", nil, "PostgreSQL 16beta1"},
		{"PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.62614", nil,
			"Redshift 1.0.62614"},
	} {
		ask := func(q string) string { return c.answers[q] }
		if got := product(c.version, ask); got != c.want {
			t.Errorf("%q is called %q, expected %q", c.version, got, c.want)
		}
	}
}
