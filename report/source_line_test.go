package report_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"isovet/check"
	"isovet/evidence"
	"isovet/history/format/jsonl"
	"isovet/internal/test/must"
	"isovet/level"
	"isovet/report"
)

// TestStatements: a verdict has the statements of its transactions, where a recorder of SQL has named them so, and an
// annotation stands at the program's line, if that is a file of the repository.
func TestStatements(t *testing.T) {
	h, err := jsonl.Read([]byte(`{"format":"isovet-history","version":1,"initial":0}
{"id":1,"name":"read-committed: SELECT a /* example.org/bank/pay/pay.go:12 */; UPDATE a /* pay/pay.go:13 */;","ops":[["r","x",0],["w","x",1]]}
{"id":2,"name":"UPDATE a /* ../outside.go:7 */ /* pay:1 */","ops":[["r","x",0],["w","x",2]]}
{"id":3,"name":"Transfer select","ops":[["r","x",2]]}
`), "h.jsonl")
	must.OK(t, err)
	c, why := check.Choose(check.AutoName, "", h, level.Serializable)
	if c == nil {
		t.Fatal(why)
	}
	r, err := check.Run(t.Context(), c, h, check.Options{Level: level.Serializable})
	if err != nil || r.Verdict != evidence.Violated {
		t.Fatal(r, err)
	}
	root := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(root, "pay"), 0o755), os.Mkdir(filepath.Join(root, ".git"), 0o755),
		os.WriteFile(filepath.Join(root, "outside.go"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(filepath.Join(root, "pay"))
	t.Setenv("GITHUB_WORKSPACE", "")
	var text, page bytes.Buffer
	err = report.Text(&text, "h.jsonl", r, report.TextOptions{})
	must.OK(t, errors.Join(err, report.HTML(&page, "h", r)))
	want := "T1 is read-committed: SELECT a /* example.org/bank/pay/pay.go:12 */; UPDATE a /* pay/pay.go:13 */;\n"
	for _, s := range []string{text.String(), page.String()} {
		must.Be(t, strings.Contains(s, want) && strings.Contains(s, "T2 is UPDATE a") && !strings.Contains(s, "T3 is"),
			"expected %s in\n%s", want, s)
	}
	its := []*report.Item{{Path: "h.jsonl", Answers: []*evidence.Result{r}}}
	if got := document(t, "github", 1, its); !strings.HasPrefix(got, "::error file=pay/h.jsonl,line=2,") {
		t.Errorf("without the source: %s", got)
	}
	must.OK(t, os.WriteFile("pay.go", nil, 0o644))
	if got := document(t, "github", 1, its); !strings.HasPrefix(got, "::error file=pay/pay.go,line=12,") {
		t.Errorf("with the source: %s", got)
	}
	if got := document(t, "sarif", 1, its); !strings.Contains(got, `{"uri":"pay/pay.go"},"region":{"startLine":12}`) ||
		!strings.Contains(got, `{"uri":"pay/h.jsonl"},"region":{"startLine":2}`) {
		t.Errorf("with the source: %s", got)
	}
}
