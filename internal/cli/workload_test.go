package cli

import (
	"bytes"
	"strings"
	"testing"

	"isovet/collect/hunt"
	"isovet/internal/cli/console"
	"isovet/internal/cli/workloads"
)

// TestWorkloadNames: each workload that the help of hunt names is one that its flag takes, and is the one that is run.
func TestWorkloadNames(t *testing.T) {
	var help bytes.Buffer
	if got := Main([]string{"hunt", "--help"}, nil, &help, &help); got != console.StatusOK {
		t.Fatalf("exit status %d: %s", got, help.String())
	}
	said := strings.Join(strings.Fields(help.String()), " ")
	for _, name := range append(hunt.Loads(), "rows/insert", "rmw/locking") {
		if !strings.Contains(said, name) && name != "rows/insert" && name != "rmw/locking" {
			t.Errorf("the help does not name %s", name)
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
