package mysql

import "isovet/collect/driver"

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
	}, open)
}
