package sqlstmt

import "isovet/internal/sqltext"

// hints say which statement would be understood instead.
var hints = map[string]string{
	"DISTINCT":                         "select the rows, and drop the doubles",
	"GROUP BY":                         "select the rows, or read them before in the transaction",
	"an aggregate":                     "select the rows, or read them before in the transaction",
	"UNION, INTERSECT or EXCEPT":       "send each SELECT by itself",
	"SELECT INTO":                      "use INSERT … SELECT",
	"no column is returned":            "name a column",
	"no row of a table is returned":    "name the table in FROM",
	withWrites:                         "send each write by itself",
	"EXPLAIN":                          "send the statement itself",
	"COPY":                             "use INSERT or SELECT",
	"MERGE":                            "use INSERT … ON CONFLICT, UPDATE and DELETE",
	"TRUNCATE":                         "use DELETE",
	"CALL":                             "send its statements",
	"DO":                               "send its statements",
	"PREPARE":                          "have the driver prepare it",
	"EXECUTE":                          "have the driver prepare it",
	"DECLARE":                          "use SELECT; drivers fetch rows in portions",
	"FETCH":                            "use SELECT; drivers fetch rows in portions",
	"a join with an alias":             "leave that alias out",
	"columns with other names":         "leave the list of names out",
	"two tables with one name":         "give each an alias",
	"a table without a primary key":    "add one",
	"a table with rules":               "drop the rules, or use triggers",
	"a table with row-level security":  "only its reads are understood",
	"a partitioned or inherited table": "none is; test with a plain table",
	"the role may not SELECT the whole table": "GRANT SELECT on it",
	"it changes the key":                      "delete and insert, or use PostgreSQL 18",
	sqltext.TwoPhase:                          "commit in one phase",
}
