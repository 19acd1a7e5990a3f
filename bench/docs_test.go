package bench

import (
	"os"
	"strings"
	"testing"
)

// TestAddingAnEncoding: what the page shows is the example that is compiled and run, and short.
func TestAddingAnEncoding(t *testing.T) {
	page, err := os.ReadFile("../docs/adding-an-encoding.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```go\n")
	block, _, closed := strings.Cut(rest, "```")
	if !ok || !closed || block != string(code) {
		t.Errorf("docs/adding-an-encoding.md does not show bench/example_test.go as it is")
	}
	if n := strings.Count(string(code), "\n"); n > 80 {
		t.Errorf("the example has %d lines, more than 80", n)
	}
}
