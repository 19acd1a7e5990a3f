package driver_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"isovet/collect/driver"
	_ "isovet/collect/driver/all"
	"isovet/internal/test/histtest"
	"isovet/internal/test/must"
)

var update = flag.Bool("update", false, "write docs/own-workload.md anew from the files that it shows")

// TestOwnWorkloadPage: the page shows the program and the workload that tests run.
func TestOwnWorkloadPage(t *testing.T) {
	const page = "../../docs/own-workload.md"
	was, err := os.ReadFile(page)
	must.OK(t, err)
	text := string(was)
	for file, lang := range map[string]string{"collect/driver/testdata/mystore/main.go": "go",
		"internal/cli/testdata/transfers.yaml": "yaml"} {
		code, err := os.ReadFile(filepath.Join("../..", file))
		must.OK(t, err)
		begin := "<!-- begin: " + file + " -->\n"
		head, rest, ok := strings.Cut(text, begin)
		_, tail, ended := strings.Cut(rest, "<!-- end -->")
		if !ok || !ended {
			t.Fatalf("the page has no place for %s", file)
		}
		text = head + begin + "```" + lang + "\n" + string(code) + "```\n<!-- end -->" + tail
	}
	if *update {
		err = os.WriteFile(page, []byte(text), 0o644)
	} else if text != string(was) {
		err = errors.New("docs/own-workload.md does not show the files as they are: go test ./collect/driver -update")
	}
	if err != nil {
		t.Error(err)
	}
}

// TestOwnDatabase builds the program of the page and hunts in its store.
func TestOwnDatabase(t *testing.T) {
	histtest.OnlyLong(t)
	bin := filepath.Join(t.TempDir(), "mystore")
	if out, err := exec.Command("go", "build", "-o", bin, "./testdata/mystore").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin, "hunt", "--db", "mem:", "--workload", "smallbank", "--level", "strict-serializable",
		"--txns", "300", "--for", "2s", "-q", "-o", filepath.Join(t.TempDir(), "v.jsonl"))
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "no violation of strict-serializable found: mem, serializable") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestRegisterTwice: a scheme that is there already is a mistake that is reported at once.
func TestRegisterTwice(t *testing.T) {
	defer func() {
		if r := recover(); r == nil || !strings.Contains(r.(string), "is that of badger already") {
			t.Errorf("%v", r)
		}
	}()
	driver.RegisterStore(driver.Store{Scheme: "badger", Isolations: []string{"x"}})
}
