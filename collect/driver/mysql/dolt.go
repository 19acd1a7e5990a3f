package mysql

import "isovet/collect/driver"

func init() { driver.Register(driver.Scheme{Name: "dolt"}, open) }
