# make check is what must hold before a commit; .ci/run runs its parts in a fresh clone, .ci/nightly all that takes long.
GO ?= go
PKGS ?= ./...

.PHONY: all check fmt lint arch deadcode test race fuzz bench size words docs figures long long-watch mutants \
	contrib databases proofs clean

all: check

check: fmt lint arch deadcode words test

fmt lint arch deadcode:
	@GO=$(GO) .ci/static $@

test:
	$(GO) test $(PKGS)

race:
	$(GO) test -race -skip '^TestMemory$$' $(PKGS)

# Each fuzz target FUZZTIME (10000x) often. A count, not a duration: where its time is up while a worker is busy, go
# test -fuzz can end with "context deadline exceeded", and nothing is wrong.
fuzz:
	@ISOVET_NIGHTLY=$$(mktemp -d) GO=$(GO) .ci/nightly fuzz

bench:
	$(GO) test -run '^$$' -bench . -benchmem $(PKGS)

# Lines, folders, files a package, long structs and functions, beside their bounds: by name with SIZE=-v.
size:
	@$(GO) run ./internal/test/size $(SIZE)

# What is hard to read on the pages: long sentences, long lines, words with a plainer one.
words:
	@$(GO) run ./internal/test/words

# The pages and lists that are written from the code and its data.
docs:
	$(GO) test ./docs -run '^TestLists$$' -update
	$(GO) test ./check -run '^TestTakesPage$$' -update
	$(GO) test ./datasets -run '^TestDocs$$' -update
	$(GO) test ./internal/cli -run '^TestCommandsPage$$' -update

# The pages, charts and CSV files of bench/results, from their JSON.
figures:
	$(GO) test ./bench -run '^TestPages$$' -update

# The tests that take minutes too, all figures of the papers at the quick scale (two to five minutes), and forged
# certificates for as long again.
long:
	ISOVET_LONG=1 $(GO) test -timeout 4h $(PKGS)
	$(GO) run ./cmd/isovet bench reproduce --all --quick -q --out "$$(mktemp -d)" >/dev/null
	$(MAKE) mutants MUTANTS=20000000

# What chance, load or hours decide (.ci/nightly): all parts, or PARTS='proofs fuzz'.
PARTS ?=
nightly:
	.ci/nightly $(PARTS)

# The gate's tests N times, those of LOAD packages at once: what failed, and how often. Run it before a test is added.
N ?= 10
LOAD ?= 20
flaky:
	@GO=$(GO) .ci/flaky $(N) $(LOAD) $(PKGS)

# The long tests of isovet watch: ten and fifty million transactions, kills by the hundred. Hours.
long-watch:
	ISOVET_LONG=1 $(GO) test -v -timeout 4h -bench . -benchtime 1x ./watch/...

# False certificates that isovet verify must not accept: so many, from this seed on. It prints up to which seed it got; begin there to go on.
MUTANTS ?= 200000
MUTANT_SEED ?= 0
mutants:
	ISOVET_MUTANTS=$(MUTANTS) $(GO) test -timeout 0 -v -run '^TestMutants$$' ./certify -seed $(MUTANT_SEED)

# The modules under contrib, which have dependencies of their own: some hundred megabytes the first time.
contrib:
	@GO=$(GO) .ci/contrib

# Databases that take minutes to build, and what is known of them: Dolt, TiDB, DuckDB. Gigabytes the first time.
databases:
	@GO=$(GO) .ci/databases

# The proofs, by Coq 8.16, and isovet-kernel from them (Debian: coq ocaml-nox ocaml-findlib).
proofs:
	@$(MAKE) -C proofs

clean:
	rm -rf bin coverage.out
