package collect_test

import (
	_ "isovet/collect/driver/all"
	_ "isovet/history/format/parquet"
	_ "isovet/internal/test/memdir"
)
