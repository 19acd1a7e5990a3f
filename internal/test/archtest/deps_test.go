package archtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

// made is a package: the module that it is of, "" for Go's own, and what it imports.
type made struct {
	module  string
	imports []string
}

// graph is all that this module's packages and programs are made of.
var graph = sync.OnceValues(func() (map[string]made, error) {
	c := exec.Command("go", "list", "-deps", "-f", `{{.ImportPath}} {{with .Module}}{{.Path}}{{else}}-{{end}} `+
		`{{join .Imports " "}}`, "./cmd/...", "./record/...")
	c.Dir = filepath.Join("..", "..", "..")
	out, err := c.Output()
	all := map[string]made{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		all[f[0]] = made{strings.TrimPrefix(f[1], "-"), f[2:]}
	}
	return all, err
})

// needed are the packages that some packages of this module are made of.
func needed(t *testing.T, packages ...string) map[string]made {
	t.Helper()
	all, out := must.Get(graph())(t), map[string]made{}
	var add func(path string)
	add = func(path string) {
		if _, seen := out[path]; seen {
			return
		}
		if m, ok := all[path]; ok {
			out[path] = m
			for _, im := range m.imports {
				add(im)
			}
		}
	}
	for _, p := range packages {
		if add(module + "/" + p); len(out) == 0 {
			t.Fatalf("there is no package %s", p)
		}
	}
	return out
}

// modules are those that packages are made of, this one among them.
func modules(t *testing.T, packages ...string) []string {
	t.Helper()
	var all []string
	for _, m := range needed(t, packages...) {
		all = append(all, m.module)
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" })
}

// TestFewModules: who uses the library gets no database's client with it.
func TestFewModules(t *testing.T) {
	for most, packages := range map[int][]string{
		5: {"check", "record/isovettest", "report", "check/shrink"},
		2: {"record", "history", "evidence", "level", "certify"},
	} {
		if got := modules(t, packages...); len(got) > most {
			t.Errorf("%v need %d modules, more than %d: %v", packages, len(got), most, got)
		}
	}
}

// maxCheckOnly is how many bytes the program that checks and nothing else may have.
const maxCheckOnly = 15_000_000

// TestLight: the program that checks and nothing else has no databases, no message queue and no charts; the one that
// compares checkers has not even HTTP, which takes a sixth of its time to compile.
func TestLight(t *testing.T) {
	for program, heavy := range map[string]string{
		"isovet-check": "nats pgx mysql redis badger sqlite gonum progressbar parquet",
		"bench": "nats pgx mysql redis badger sqlite gonum progressbar parquet net/http crypto/tls go.yaml.in " +
			module + "/collect " + module + "/record",
	} {
		for p := range needed(t, "cmd/"+program) {
			for h := range strings.FieldsSeq(heavy) {
				must.Be(t, !strings.Contains(p, h), "%s is built with %s", program, p)
			}
		}
	}
}

// TestCheckOnly builds that program as a release is built, and tries it.
func TestCheckOnly(t *testing.T) {
	histtest.OnlyLong(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "isovet-check")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./cmd/isovet-check")
	build.Dir = root(t)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	info := must.Get(os.Stat(program))(t)
	t.Logf("%d bytes", info.Size())
	if info.Size() > maxCheckOnly {
		t.Errorf("%d bytes, more than %d", info.Size(), maxCheckOnly)
	}
	h := filepath.Join(dir, "h.jsonl")
	text := `{"ops":[["r","x",0],["w","x",1]]}` + "\n" + `{"ops":[["r","x",0],["w","x",2]]}` + "\n" +
		`{"init":true,"ops":[["w","x",0]]}` + "\n"
	must.OK(t, os.WriteFile(h, []byte(text), 0o644))
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"check", h}, 1, "lost-update"},
		{[]string{"checkers"}, 0, "replay"},
		{[]string{"collect", "--db", "sqlite:"}, 254, "full isovet"},
	} {
		run := exec.Command(program, c.args...)
		out, _ := run.CombinedOutput() // the status is looked at
		if got := run.ProcessState.ExitCode(); got != c.status || !strings.Contains(string(out), c.says) {
			t.Errorf("%v: status %d, want %d and %q: %s", c.args, got, c.status, c.says, out)
		}
	}
}

// TestHeavyDrivers: databases whose client libraries are heavy, or need cgo, are in modules of their own under contrib.
func TestHeavyDrivers(t *testing.T) {
	all := modules(t, "cmd/isovet")
	if len(all) < 20 {
		t.Fatalf("%d modules", len(all))
	}
	for _, m := range all {
		for _, heavy := range []string{"duckdb", "gocql", "mongo", "bbolt", "rqlite", "firebird", "etcd", "grpc",
			"beam"} {
			must.Be(t, !strings.Contains(m, heavy), "the main program is built with %s", m)
		}
	}
}
