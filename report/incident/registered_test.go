package incident_test

import (
	_ "isovet/collect/driver/keyvalue"
	_ "isovet/collect/driver/mysql"
	_ "isovet/collect/driver/postgres"
	_ "isovet/collect/driver/sqlite"
)
