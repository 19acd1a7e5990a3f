package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/collect/hunt"
	"isovet/internal/cli/checks"
	"isovet/internal/cli/console"
	"isovet/internal/cli/workloads"
	"isovet/internal/test/must"
)

// TestWorkloadNames: each workload that hunt takes turns between stands in docs/collect.md, is one that its flag takes,
// and is the one that is run.
func TestWorkloadNames(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/collect.md"))(t)
	for _, name := range append(hunt.Loads(), "rows/insert", "rmw/locking") {
		if !bytes.Contains(page, []byte("`"+name+"`")) && name != "rows/insert" && name != "rmw/locking" {
			t.Errorf("docs/collect.md does not name %s", name)
		}
		w := new(string)
		if err := workloads.NewWorkloadValue(w).Set(name); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		variant := ""
		if err := workloads.PartVariant(w, &variant); err != nil || strings.Trim(*w+"/"+variant, "/") != name {
			t.Errorf("%s is %q and %q (%v)", name, *w, variant, err)
		}
	}
	for args, want := range map[string]string{
		"--workload rows/none":                    `workload rows has no variant "none"; expected one of default`,
		"--workload none/direct":                  `unknown workload "none"; expected one of`,
		"--workload rows/direct --variant insert": "--workload rows/direct and --variant insert are two variants",
	} {
		var out bytes.Buffer
		got := Main(append([]string{"hunt", "--db", "sqlite:"}, strings.Fields(args)...), nil, &out, &out)
		if got != console.StatusBadInput || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit status %d, %q, expected %q", args, got, out.String(), want)
		}
	}
}

// TestRunFolder: the settings of a bank are those of the test.jepsen beside the history, and a damaged one is reported.
func TestRunFolder(t *testing.T) {
	file := must.Get(os.ReadFile("../../history/operations/testdata/bank.jepsen"))(t)
	const edn = "{:type :invoke, :process 0, :f :read}\n{:type :ok, :process 0, :f :read, :value {0 10, 1 5}}\n"
	for name, c := range map[string]struct {
		files  map[string][]byte
		status int
		want   string
	}{
		"both":    {map[string][]byte{"history.edn": []byte(edn), "test.jepsen": file}, 1, "of 15; expected 20"},
		"alone":   {map[string][]byte{"test.jepsen": file}, 1, "of 15; expected 20"},
		"damaged": {map[string][]byte{"history.edn": []byte(edn), "test.jepsen": file[:50]}, 0, "were not read: "},
	} {
		dir := t.TempDir()
		for file, data := range c.files {
			must.OK(t, os.WriteFile(filepath.Join(dir, file), data, 0o600))
		}
		var out bytes.Buffer
		got := Main([]string{"check", "--workload", "bank", dir}, nil, &out, &out)
		if got != c.status || !strings.Contains(out.String(), c.want) {
			t.Errorf("%s: exit status %d, %q; expected %q", name, got, out.String(), c.want)
		}
	}
}

// TestNoAnswer: where operations cannot be read, JSON names the workload that was asked for, and no level.
func TestNoAnswer(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.edn")
	must.OK(t, os.WriteFile(file, []byte("{:type :invoke, :process 0, :f :enqueue, :value 1}\n{:type :ok"), 0o600))
	for _, args := range []string{"check --json --workload bank " + file, "check --json " + file,
		"check --json --workload bank " + file + ".none"} {
		want := `"workload":"bank","checker":"workload","verdict":"unknown"`
		if !strings.Contains(args, "bank") {
			want = strings.Replace(want, "bank", "operations", 1)
		}
		var out bytes.Buffer
		got := Main(strings.Fields(args), nil, &out, &out)
		if got != console.StatusBadInput || !strings.Contains(out.String(), want) ||
			strings.Contains(out.String(), `"level"`) {
			t.Errorf("%s: exit status %d, %q; expected %q", args, got, out.String(), want)
		}
	}
}

// TestOperationsPage: view shows what check says about a run of operations, and nothing of other histories.
func TestOperationsPage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "history.edn")
	for ops, want := range map[string]string{
		"{:type :invoke, :process 0, :f :dequeue}\n{:type :ok, :process 0, :f :dequeue, :value 5}\n": "violation: ",
		"{:type :invoke, :process 0, :f :read}\n{:type :ok, :process 0, :f :read, :value 5}\n":       "",
		"{:type :invoke, :process 0, :f :dequeue}\n{:type :ok, :proc":                                "error",
	} {
		must.OK(t, os.WriteFile(file, []byte(ops), 0o600))
		page, err := checks.OperationsPage(t.Context(), &console.Env{}, dir)
		if want == "" && page != nil || !bytes.Contains(page, []byte(want)) && err == nil ||
			(err != nil) != (want == "error") {
			t.Errorf("%s: %.300s %v; expected %q", ops, page, err, want)
		}
	}
}

// TestEtcdFolder: a report of etcd's is all of its clients, and one client's file names the others.
func TestEtcdFolder(t *testing.T) {
	dir := t.TempDir()
	for i, call := range []int{5, 1} {
		file := filepath.Join(dir, fmt.Sprint("client-", i+1), "operations.json")
		must.OK(t, os.Mkdir(filepath.Dir(file), 0o700))
		must.OK(t, os.WriteFile(file, fmt.Appendf(nil, `{"ClientId": %d, "Input": {"Type": "txn", "Txn": {`+
			`"OperationsOnSuccess": [{"Type": "put-operation", "Put": {"Key": "x", "Value": {"Value": "a"}}}]}}, `+
			`"Call": %d, "Output": {"Txn": {"Results": [{}]}, "Revision": %d}, "Return": %d}`, i, call, 3-i, call+1), 0o600))
	}
	file, watch := filepath.Join(dir, "client-1", "operations.json"), filepath.Join(dir, "client-2", "watch.json")
	must.OK(t, os.WriteFile(watch, []byte(`{"Request": {"Key": "x", "Revision": 2}, "Responses": [{"Events": [{"Type": `+
		`"put-operation", "Key": "x", "Value": {"Value": "b"}, "Revision": 2, "IsCreate": true}], "Time": 3}]}`), 0o600))
	for path, want := range map[string]string{dir: `"x" is not what was done`, file: "expected the report's folder"} {
		var out bytes.Buffer
		got := Main([]string{"check", path}, nil, &out, &out)
		if !strings.Contains(out.String(), want) || (got == 1) != (path == dir) {
			t.Errorf("%s: exit status %d, %q; expected %q", path, got, out.String(), want)
		}
	}
}
