//go:build !offline

package driver

// builtin are the databases whose clients are part of the program.
func builtin() []Scheme {
	return []Scheme{sqliteScheme, badgerScheme, postgresScheme, mysqlScheme, etcdScheme, redisScheme}
}
