package parquet

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"isovet/datasets"
	"isovet/history"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

// nodeSQL runs statements in DuckDB from JavaScript, and prints rows as duckdb -list -noheader does.
const nodeSQL = `const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const c = await (await DuckDBInstance.create(':memory:')).connect();
  for (const s of process.argv[1].split(/;\s*\n/)) {
    if (!s.trim()) continue;
    for (const row of (await c.runAndReadAll(s)).getRows()) console.log(row.map(String).join('|'));
  }
})().catch(e => { console.error(String(e)); process.exit(1); });`

const pythonSQL = `import duckdb, re, sys
for s in re.split(r";\s*\n", sys.argv[1]):
    if s.strip():
        r = duckdb.sql(s)
        for row in r.fetchall() if r is not None else []:
            print("|".join(map(str, row)))`

// duckDB returns a way to run statements in DuckDB that is installed here: the program, Python's module or that of
// JavaScript.
func duckDB(t *testing.T) func(dir, sql string) string {
	for _, c := range []struct {
		probe, run []string
	}{
		{[]string{"duckdb", "-version"}, []string{"duckdb", "-list", "-noheader", "-c"}},
		{[]string{"python3", "-c", "import duckdb"}, []string{"python3", "-c", pythonSQL}},
		{[]string{"node", "-e", "require('@duckdb/node-api')"}, []string{"node", "-e", nodeSQL, "--"}},
	} {
		if exec.Command(c.probe[0], c.probe[1:]...).Run() == nil {
			return func(dir, sql string) string { return run(t, dir, append(c.run, sql)...) }
		}
	}
	t.Skip("SKIPPED, NOTHING TESTED: no DuckDB here: not the program, and neither Python nor node has its module " +
		"(NODE_PATH may say where)")
	return nil
}

func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	c.Dir = dir
	out := must.Get(c.CombinedOutput())(t)
	return string(out)
}

// examples returns the page's code in a language.
func examples(t *testing.T, language string) []string {
	page := must.Get(os.ReadFile(filepath.Join("..", "..", "..", "docs", "formats.md")))(t)
	var all []string
	for _, m := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(page, -1) {
		all = append(all, string(m[1]))
	}
	must.Hold(t, len(all) != 0, "docs/formats.md has no example in %s", language)
	return all
}

// written here, for others to read.
func generatedFile(t *testing.T, dir string) *history.History {
	h := must.Get(datasets.Generate(t.Context(), datasets.Spec{Workload: "blindw", Txns: 2000, Ops: 8,
		Times: datasets.TxnTimes}))(t)
	must.OK(t, os.WriteFile(filepath.Join(dir, "h.parquet"), written(t, "h", h), 0o600))
	return h
}

func readFile(t *testing.T, path string) *history.History {
	t.Helper()
	data := must.Get(os.ReadFile(path))(t)
	return must.Get(read(data, 1))(t)
}

// madeHistory checks the history that the examples make.
func madeHistory(t *testing.T, dir string) {
	h := readFile(t, filepath.Join(dir, "made.parquet"))
	if h.NumTxns() != 2 || h.NumOps() != 4 || h.NumSessions() != 2 || h.NumKeys() != 1 || h.KeyString(0) != `"x"` ||
		h.ValueString(h.Ops.Ver[0]) != "null" || h.ValueString(h.Ops.Ver[3]) != "2" {
		t.Errorf("%d transactions, %d operations, %d sessions, key %s", h.NumTxns(), h.NumOps(), h.NumSessions(),
			h.KeyString(0))
	}
}

// TestDuckDB runs the page's examples, and has DuckDB copy a history.
func TestDuckDB(t *testing.T) {
	sql := duckDB(t)
	dir := t.TempDir()
	h := generatedFile(t, dir)
	for _, s := range examples(t, "sql") {
		t.Log(sql(dir, s))
	}
	madeHistory(t, dir)
	if g := readFile(t, filepath.Join(dir, "made.parquet")); g.Start(1)-g.Start(0) != 2000 {
		t.Errorf("starts %d and %d; expected 2 microseconds between", g.Start(0), g.Start(1))
	}
	for _, options := range []string{"", ", PARQUET_VERSION v2", ", COMPRESSION gzip", ", COMPRESSION zstd, " +
		"ROW_GROUP_SIZE 2048", ", COMPRESSION lz4_raw", ", COMPRESSION brotli",
		", COMPRESSION uncompressed"}[histtest.Long(3, 0):] {
		sql(dir, "COPY (SELECT * FROM 'h.parquet') TO 'copy.parquet' (FORMAT parquet"+options+");\n")
		g := readFile(t, filepath.Join(dir, "copy.parquet"))
		g.Meta = h.Meta // a copy has no metadata
		diff.Same(t, h, g, "copied by DuckDB%s", options)
	}
	counts := sql(dir, "SELECT count(DISTINCT txn), count(kind) FROM 'h.parquet';\n")
	must.Equal(t, strings.TrimSpace(counts), fmt.Sprintf("%d|%d", h.NumTxns(), h.NumOps()), "DuckDB counts")
}

// TestPandas has pandas copy a history.
func TestPandas(t *testing.T) {
	if exec.Command("python3", "-c",
		"import importlib.util as u; assert u.find_spec('pandas') and u.find_spec('pyarrow')").Run() != nil {
		t.Skip("SKIPPED, NOTHING TESTED: no Python here that has pandas and pyarrow")
	}
	dir := t.TempDir()
	h := generatedFile(t, dir)
	run(t, dir, "python3", "-c", `import pandas as pd
pd.read_parquet("h.parquet").to_parquet("copy.parquet")`)
	g := readFile(t, filepath.Join(dir, "copy.parquet"))
	g.Meta = h.Meta
	diff.Same(t, h, g, "copied by pandas")
}
