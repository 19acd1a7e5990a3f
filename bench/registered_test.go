package bench_test

import (
	_ "isovet/bench/charts"
	_ "isovet/collect/driver/all"
)
