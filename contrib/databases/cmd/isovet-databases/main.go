// Command isovet-databases is isovet with the databases of contrib/databases.
package main

import (
	"isovet/cmd/command"
	"isovet/contrib/databases"
)

func main() {
	databases.Register()
	command.Main()
}
