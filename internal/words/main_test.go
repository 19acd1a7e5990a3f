package main

import (
	"os"
	"strings"
	"testing"
)

// TestRead: each kind of finding is found at its line, and code, tables and quotations are left alone.
func TestRead(t *testing.T) {
	var got []string
	for _, f := range read("Plain.\n" + strings.Repeat("one two\n", 18) + "\n| misfit |\n\n`in vain` " +
		strings.Repeat("x", maxColumns) + "\n\n> " + strings.Repeat("w ", 40) + "\n\n    " + strings.Repeat("w ", 40)) {
		got = append(got, f.text)
	}
	if len(got) != 3 || !strings.HasPrefix(got[0], "a sentence of 36 words") || !strings.Contains(got[1], "misfit") ||
		!strings.HasPrefix(got[2], "more than 120") {
		t.Errorf("%q", got)
	}
}

// TestPages: the pages are plain.
func TestPages(t *testing.T) {
	t.Chdir("../..")
	all := pages(".")
	if len(all) < 40 {
		t.Fatalf("%d pages", len(all))
	}
	for _, page := range all {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range read(string(text)) {
			t.Errorf("%s:%d: %s", page, f.line, f.text)
		}
	}
}
