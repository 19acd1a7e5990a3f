package mysql

import (
	"isovet/collect/driver"
	"isovet/level"
)

const doltPromise = "Dolt documentation, Concepts, SQL, Transactions: it uses the read committed transaction model"

func init() {
	driver.Register(driver.Scheme{
		Name:  "dolt",
		URLs:  []string{"dolt"},
		About: "Dolt, by MySQL's protocol; every level that it accepts is its repeatable read",
		Isolations: []string{
			"default",
			"repeatable-read=rr",
			"serializable=ser=session-serializable",
			"read-committed=rc",
			"read-uncommitted=ru",
		},
		SQL: true,
		// The same for every level: Dolt accepts all names.
		Promises: []driver.Promise{
			driver.NewPromise("Dolt", "repeatable-read", []level.Level{level.ReadCommitted}, doltPromise, nil),
			driver.NewPromise("Dolt", "serializable", []level.Level{level.ReadCommitted}, doltPromise, nil),
			driver.NewPromise("Dolt", "read-committed", []level.Level{level.ReadCommitted}, doltPromise, nil),
		},
	}, open)
}
