package cli

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"isovet/evidence"
	"isovet/history/format/edn"
	"isovet/internal/test/must"
)

// TestJepsenPage: the page's checker is short, reads as EDN, and asks for flags and fields that there are.
func TestJepsenPage(t *testing.T) {
	page := must.Get(os.ReadFile("../../docs/jepsen.md"))(t)
	_, rest, _ := strings.Cut(string(page), "```clojure\n")
	code, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("no Clojure on the page")
	}
	if n := strings.Count(code, "\n"); n > 40 {
		t.Errorf("the checker has %d lines", n)
	}
	s := edn.Scanner{Data: []byte(code), File: "jepsen.md"}
	forms := 0
	for ; ; forms++ {
		form := must.Get(s.Next())(t)
		if form.Kind == edn.EOF {
			break
		}
		if err := s.SkipRest(form); err != nil || !form.Opens() {
			t.Fatalf("%v: %v", form, err)
		}
	}
	must.Equal(t, forms, 2, "forms")
	check, _, err := Root().Find([]string{"check"})
	must.OK(t, err)
	flags := regexp.MustCompile(`"--([a-z-]+)"`).FindAllStringSubmatch(code, -1)
	for _, f := range flags {
		if check.Flags().Lookup(f[1]) == nil {
			t.Errorf("check has no --%s", f[1])
		}
	}
	fields := map[string]bool{}
	for _, of := range []reflect.Type{reflect.TypeFor[evidence.Report](), reflect.TypeFor[evidence.AnomalyReport]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			fields[name] = true
		}
	}
	used := regexp.MustCompile(`\(:([a-z_]+) r\)|mapv :(text)`).FindAllStringSubmatch(code, -1)
	for _, f := range used {
		if !fields[f[1]+f[2]] {
			t.Errorf("the answer has no field %s", f[1]+f[2])
		}
	}
	if len(flags) != 4 || len(used) != 6 {
		t.Errorf("%d flags and %d fields are used", len(flags), len(used))
	}
}
