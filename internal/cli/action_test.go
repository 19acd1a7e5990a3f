package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"isovet/internal/test/must"
)

// TestAction runs the last step of action.yml on histories, as GitHub's runner does, with this test program as isovet.
func TestAction(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("SKIPPED, NOTHING TESTED: no bash")
	}
	text := must.Get(os.ReadFile("../../action.yml"))(t)
	_, step, ok := strings.Cut(string(text), "      run: |\n")
	if !ok {
		t.Fatal("action.yml has no step of several lines")
	}
	for _, input := range []string{"histories", "level", "arguments", "sarif", "unknown-exit"} {
		if !strings.Contains(string(text), "${{ inputs."+input+" }}") ||
			!strings.Contains(string(text), "\n  "+input+":") {
			t.Errorf("input %s is not declared or not used", input)
		}
	}
	dir := t.TempDir()
	for name, lines := range map[string]string{
		"ok.jsonl":  `{"id":1,"ops":[["w","x",1]]}`,
		"bad.jsonl": `{"id":1,"ops":[["w","x",1]]}` + "\n" + `{"id":2,"ops":[["r","x",2]]}`,
	} {
		must.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(lines+"\n"), 0o644))
	}
	self := must.Get(os.Executable())(t)
	if err := os.Symlink(self, filepath.Join(dir, "isovet")); err != nil { // testscript runs the command of that name
		t.Fatal(err)
	}
	run := func(histories string) (string, int) {
		c := exec.Command(bash, "-e", "-o", "pipefail", "-c", step)
		c.Dir = dir
		c.Env = append(os.Environ(), "RUNNER_TEMP="+dir, "HISTORIES="+histories, "LEVEL=si", "ARGUMENTS=--quiet",
			"SARIF=out.sarif", "UNKNOWN=2")
		out, err := c.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return string(out), exit.ExitCode()
		}
		must.OK(t, err)
		return string(out), 0
	}
	if out, status := run("ok.jsonl"); status != 0 || out != "" {
		t.Errorf("status %d: %s", status, out)
	}
	out, status := run("*.jsonl")
	if status != 1 || !strings.HasPrefix(out, "::error file=bad.jsonl,line=2,title=thin-air-read") {
		t.Errorf("status %d: %s", status, out)
	}
	sarif := string(must.Get(os.ReadFile(filepath.Join(dir, "out.sarif")))(t))
	if !strings.Contains(sarif, `"startLine":2`) {
		t.Error(sarif)
	}
}
