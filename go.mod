module isovet

go 1.26.0

require (
	github.com/andybalholm/brotli v1.2.8 // Brotli, within Parquet
	github.com/anishathalye/porcupine v1.3.1 // another judge of linearizability, to compare with
	github.com/cespare/xxhash/v2 v2.3.0 // checksums of the native format, hashes of interned texts
	github.com/chromedp/cdproto v0.159.0 // a browser's events and settings, in tests of pages
	github.com/chromedp/chromedp v0.23.0 // a headless browser, in tests of pages
	github.com/cockroachdb/pebble/v2 v2.1.7 // what watch knows of keys that memory does not hold, on disk
	github.com/crillab/gophersat v1.4.0 // a second SAT solver to compare with
	github.com/dgraph-io/badger/v4 v4.9.6 // Badger, a database inside this program
	github.com/go-air/gini v1.0.4 // a SAT solver to compare with
	github.com/go-sql-driver/mysql v1.10.1 // client of MariaDB, MySQL, Galera
	github.com/gomodule/redigo v1.9.3 // client of Redis, a small one
	github.com/jackc/pgx/v5 v5.12.0 // client of PostgreSQL
	github.com/klauspost/compress v1.20.3 // zstd and fast gzip
	github.com/mattn/go-isatty v0.0.24 // a progress bar only on a terminal
	github.com/nats-io/nats.go v1.55.0 // transactions from JetStream
	github.com/olekukonko/tablewriter v1.1.0 // tables; from v1.1.2 on a process takes 20 ms more to start
	github.com/parquet-go/parquet-go v0.32.0 // Parquet
	github.com/pierrec/lz4/v4 v4.1.33 // LZ4, within Parquet
	github.com/prometheus/client_golang v1.25.0 // metrics of watch, as Prometheus reads them
	github.com/rogpeppe/go-internal v1.16.0 // script tests of the command line
	github.com/spf13/cobra v1.10.2 // commands, flags, help, completion
	github.com/spf13/pflag v1.0.9 // cobra's flags: which one a mistake names
	github.com/twmb/franz-go v1.22.2 // transactions from Kafka
	github.com/twmb/franz-go/pkg/kfake v0.0.0-20260918054303-01f206a7e32c // brokers inside the process, in tests of watch
	github.com/twmb/franz-go/pkg/kmsg v1.15.0 // Kafka's requests
	github.com/ulikunitz/xz v0.5.17 // xz
	github.com/wasilibs/go-pgquery v0.0.0-20260728010200-155ebad2880e // PostgreSQL's own parser of SQL
	go.yaml.in/yaml/v3 v3.0.5 // workloads of the user's own
	golang.org/x/sync v0.24.0 // a semaphore with weights: memory for requests
	golang.org/x/sys v0.49.0 // memory-mapped files
	golang.org/x/term v0.47.0 // the width of a terminal
	golang.org/x/tools v0.51.0 // the checks of go vet, and deadcode
	gonum.org/v1/gonum v0.17.0 // indirect; statistics of repeated runs
	gonum.org/v1/plot v0.17.0 // charts
	honnef.co/go/tools v0.8.2 // the checks of staticcheck
	modernc.org/sqlite v1.60.0 // SQLite, a database inside this program
)

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	filippo.io/edwards25519 v1.2.0 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/BurntSushi/toml v1.4.1-0.20240526193622-a339e1f7089c // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/clipperhouse/uax29/v2 v2.6.0 // indirect
	github.com/dgraph-io/ristretto/v2 v2.2.0 // indirect
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/fatih/color v1.18.0 // indirect
	github.com/go-logr/logr v1.4.3 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/google/flatbuffers v25.2.10+incompatible // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/inconshreveable/mousetrap v1.1.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/mattn/go-colorable v0.1.14 // indirect
	github.com/mattn/go-runewidth v0.0.19 // indirect
	github.com/nats-io/nkeys v0.4.16 // indirect
	github.com/nats-io/nuid v1.0.1 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/olekukonko/cat v0.0.0-20250911104152-50322a0618f6 // indirect
	github.com/olekukonko/errors v1.2.0 // indirect
	github.com/olekukonko/ll v0.1.6 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.41.0 // indirect
	go.opentelemetry.io/otel/metric v1.41.0 // indirect
	go.opentelemetry.io/otel/trace v1.41.0 // indirect
	golang.org/x/crypto v0.58.0 // indirect
	golang.org/x/exp/typeparams v0.0.0-20231108232855-2478ac86f678 // indirect
	golang.org/x/image v0.30.0 // indirect
	golang.org/x/mod v0.41.0 // indirect
	golang.org/x/text v0.43.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	modernc.org/libc v1.77.1 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

require (
	github.com/DataDog/zstd v1.5.7 // indirect
	github.com/RaduBerinde/axisds v0.1.0 // indirect
	github.com/RaduBerinde/btreemap v0.0.0-20250419174037-3d62b7205d54 // indirect
	github.com/beorn7/perks v1.0.1 // indirect
	github.com/cockroachdb/crlib v0.0.0-20241112164430-1264a2edc35b // indirect
	github.com/cockroachdb/errors v1.11.3 // indirect
	github.com/cockroachdb/logtags v0.0.0-20230118201751-21c54148d20b // indirect
	github.com/cockroachdb/redact v1.1.5 // indirect
	github.com/cockroachdb/swiss v0.0.0-20260820225851-333444432258 // indirect
	github.com/cockroachdb/tokenbucket v0.0.0-20230807174530-cc333fc44b06 // indirect
	github.com/cpuguy83/go-md2man/v2 v2.0.6 // indirect
	github.com/getsentry/sentry-go v0.27.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260213210345-44df1a37e875 // indirect
	github.com/gogo/protobuf v1.3.2 // indirect
	github.com/golang/snappy v0.0.5-0.20231225225746-43d5d4cd4e0e // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/kr/pretty v0.3.1 // indirect
	github.com/kr/text v0.2.0 // indirect
	github.com/minio/minlz v1.0.1-0.20250507153514-87eb42fe8882 // indirect
	github.com/munnerz/goautoneg v0.0.0-20191010083416-a7dc8b61c822 // indirect
	github.com/parquet-go/bitpack v1.0.0 // indirect
	github.com/parquet-go/jsonlite v1.0.0 // indirect
	github.com/pganalyze/pg_query_go/v6 v6.2.2 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	github.com/prometheus/client_model v0.6.3 // indirect
	github.com/prometheus/common v0.72.0 // indirect
	github.com/prometheus/procfs v0.22.0 // indirect
	github.com/rivo/uniseg v0.2.0 // indirect
	github.com/russross/blackfriday/v2 v2.1.0 // indirect
	github.com/tetratelabs/wazero v1.12.0 // indirect
	github.com/twpayne/go-geom v1.6.1 // indirect
	github.com/wasilibs/wazero-helpers v0.0.0-20250123031827-cd30c44769bb // indirect
	golang.org/x/exp v0.0.0-20231110203233-9a3e6036ecaa // indirect
	golang.org/x/telemetry v0.0.0-20260924152758-ed294f943157 // indirect
)

tool (
	golang.org/x/tools/cmd/deadcode
	honnef.co/go/tools/cmd/staticcheck
)
