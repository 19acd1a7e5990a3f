package bench_test

import (
	_ "isovet/bench/charts"
	_ "isovet/bench/databases"
	_ "isovet/collect/driver/all"
)
