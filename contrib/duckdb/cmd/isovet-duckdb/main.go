// Command isovet-duckdb is isovet with DuckDB.
package main

import (
	"isovet/cmd/command"
	"isovet/contrib/duckdb"
)

func main() {
	duckdb.Register()
	command.Main()
}
