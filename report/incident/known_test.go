package incident

import (
	"os"
	"strings"
	"testing"

	"isovet/collect"
	"isovet/internal/test/must"
)

// TestLongCell: a table with a long value takes linear time. Quadratic time would be an hour here.
func TestLongCell(t *testing.T) {
	text := table([]collect.Event{{Statements: []string{strings.Repeat("v", 2_000_000)}}})
	must.Equal(t, strings.Count(text, "v"), 2_000_000, "characters")
}

// TestKnown: each find of docs/found.md that was reported has its report, others have their server's tracker, and the
// page names each report.
func TestKnown(t *testing.T) {
	for _, c := range []struct{ server, isolation, anomaly, want string }{
		{"MariaDB 10.11.14", "repeatable read, innodb_snapshot_isolation", "non-repeatable-read", "MDEV-40092"},
		{"MariaDB 10.11.19, 2 nodes", "repeatable read", "lost-update", "MDEV-38977"},
		{"MariaDB 10.11.19", "repeatable read", "lost-update", "MariaDB's Jira"},
		{"Badger v4", "serializable", "G2", "Badger issue 409 Badger issue 2057"},
		{"PostgreSQL 18.4", "repeatable read", "lost-update", "_bt_check_unique() looks at the newest rows: " +
			`"operating as designed" (pgsql-bugs, 28 November 2021)`},
		{"PostgreSQL 15.3", "serializable", "G2-item", "_bt_endpoint() locks an empty index too late (isovet's " +
			"docs/found.md; no report known) gistdoinsert() does not check the pages above that it leaves alone " +
			"(isovet's docs/found.md; no report known) heap_beginscan() does not lock for a range of ctid (isovet's " +
			"docs/found.md; no report known) index_insert() checks too early for BRIN and SP-GiST (isovet's " +
			"docs/found.md; no report known) BUG #17949, fixed in 11.21, 12.16, 13.12, 14.9 and 15.4"},
		{"PostgreSQL 18.4", "serializable", "lost-update", "_bt_check_unique() takes no predicate lock (isovet's " +
			"docs/found.md; no report known)"},
		{"nobody's", "serializable", "G2", ""},
	} {
		var names []string
		for _, k := range knownOf(c.server, c.isolation, c.anomaly) {
			names = append(names, k.Name)
			if !strings.HasPrefix(k.Link, "https://") {
				t.Errorf("%s has the link %q", k.Name, k.Link)
			}
		}
		must.Equal(t, strings.Join(names, " "), c.want, "%s, %s, %s", c.server, c.isolation, c.anomaly)
	}
	page := must.Get(os.ReadFile("../../docs/found.md"))(t)
	for _, want := range []string{"MDEV-40092", "MDEV-38977", "409", "2057", "_bt_endpoint()", "gistdoinsert()",
		"heap_beginscan()", "index_insert()", "_bt_check_unique()"} {
		if !strings.Contains(string(page), want) || !strings.Contains(knownText, want) {
			t.Errorf("%s is not in docs/found.md and in known.tsv", want)
		}
	}
}
