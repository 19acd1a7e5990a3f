package format_test

import (
	_ "isovet/history/format/parquet"
	_ "isovet/history/format/xz"
)
