//go:build !offline

package driver

import (
	"isovet/level"
)

func init() {
	register(Scheme{
		Name:  "dolt",
		URLs:  []string{"dolt"},
		About: "Dolt, by MySQL's protocol; every level that it takes is its repeatable read",
		Isolations: []string{
			"default",
			"repeatable-read=rr",
			"serializable=ser=session-serializable",
			"read-committed=rc",
			"read-uncommitted=ru",
		},
		SQL: true,
		// Of serializable its documentation says nothing that isovet knows of.
		Promises: []Promise{
			{"Dolt", "repeatable-read", []level.Level{level.ReadCommitted}, "Dolt documentation, Conflicts: they are " +
				"found cell by cell, and two writers of one value have none"},
		},
		open: openMySQL,
	})
}
