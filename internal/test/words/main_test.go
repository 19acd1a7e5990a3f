package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"isovet/internal/test/must"
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
	t.Chdir("../../..")
	all := pages(".")
	if len(all) < 40 {
		t.Fatalf("%d pages", len(all))
	}
	for _, page := range all {
		text := must.Get(os.ReadFile(page))(t)
		for _, f := range read(string(text)) {
			t.Errorf("%s:%d: %s", page, f.line, f.text)
		}
	}
}

var namedPage = regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b|\balgorithms(?:\.md)? §`)

// others are packages whose comments are not read for plainer words.
var others = regexp.MustCompile(`^(?:\.\./)*(?:record|collect/sqlwork)/`)

// TestComments: the doc comment of a function or type begins with its name. A comment names no page that is not there,
// and has no word of the stop list, unless it is the name of something in the file. testdata/messages.txt has the
// messages of each package, so that a change is read beside the others.
func TestComments(t *testing.T) {
	top := filepath.Join("..", "..", "..")
	documented := 0
	messages := map[string][]string{} // by package
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "contrib" || d.Name() == ".git") {
			return cmp.Or(err, fs.SkipDir)
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, c := range file.Comments {
			for p, say := range stopped {
				text := code.ReplaceAllString(c.Text(), "")
				if m := p.FindString(text); m != "" && !others.MatchString(path) && !names(file, m) {
					t.Errorf("%s: %q: say %s", set.Position(c.Pos()), m, say)
				}
			}
			for _, page := range namedPage.FindAllString(c.Text(), -1) {
				if _, err := os.Stat(filepath.Join(top, page)); err != nil {
					t.Errorf("%s: there is no page %s", set.Position(c.Pos()), page)
				}
			}
		}
		if strings.HasSuffix(path, "_test.go") { // a test's comment often says what it tests without its name
			return nil
		}
		named := func(name *ast.Ident, doc *ast.CommentGroup) {
			if doc == nil || name.Name == "init" {
				return
			}
			documented++
			text := strings.ToLower(strings.TrimSpace(doc.Text()))
			for _, article := range []string{"", "the ", "a ", "an "} {
				if strings.HasPrefix(text, article+strings.ToLower(name.Name)) {
					return
				}
			}
			must.Equal(t, text, "", "%s: %s: comment without its name", set.Position(doc.Pos()), name)
		}
		in := filepath.ToSlash(must.Get(filepath.Rel(top, filepath.Dir(path)))(t))
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && !strings.HasPrefix(in, "internal/test") {
				if text := message(call); text != "" {
					messages[in] = append(messages[in], text)
				}
			}
			return true
		})
		for _, decl := range file.Decls {
			switch x := decl.(type) {
			case *ast.FuncDecl:
				named(x.Name, x.Doc)
			case *ast.GenDecl:
				for _, spec := range x.Specs {
					if of, ok := spec.(*ast.TypeSpec); ok && x.Lparen == token.NoPos {
						named(of.Name, x.Doc)
					}
				}
			}
		}
		return nil
	})
	if err != nil || documented < 3000 {
		t.Errorf("%d comments (%v)", documented, err)
	}
	var list strings.Builder
	for _, in := range slices.Sorted(maps.Keys(messages)) {
		slices.Sort(messages[in])
		fmt.Fprintf(&list, "# %s\n\n- %s\n\n", in, strings.Join(slices.Compact(messages[in]), "\n- "))
	}
	golden := filepath.Join("testdata", "messages.txt")
	if *update {
		must.OK(t, os.WriteFile(golden, []byte(list.String()), 0o644))
	}
	if string(must.Get(os.ReadFile(golden))(t)) != list.String() {
		t.Errorf("%s lacks messages or has old ones; run go test ./internal/test/words -update; read the diff", golden)
	}
}

var update = flag.Bool("update", false, "write testdata/messages.txt anew")

// speaks are the functions whose first text is a message for people.
var speaks = regexp.MustCompile(`^(?:Errorf|errorf|New|Sprintf|Fprintf|Unknown|Error|Warn|Info|Note|note|warn|bad|Fail)$`)

// message returns the text of a call that writes a message of five words or more, else "".
func message(call *ast.CallExpr) string {
	name := ""
	switch f := call.Fun.(type) {
	case *ast.Ident:
		name = f.Name
	case *ast.SelectorExpr:
		name = f.Sel.Name
	}
	if !speaks.MatchString(name) {
		return ""
	}
	for _, arg := range call.Args {
		if text := strings.TrimSpace(literal(arg)); len(strings.Fields(text)) >= 5 && !strings.Contains(text, "<") {
			return strings.ReplaceAll(text, "\n", "⏎")
		}
	}
	return ""
}

// literal joins the string literals of a concatenation.
func literal(e ast.Expr) string {
	switch x := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		return literal(x.X) + literal(x.Y)
	}
	return ""
}

// names reports whether a file has an identifier that is a word, in any case.
func names(file *ast.File, word string) (is bool) {
	ast.Inspect(file, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && strings.EqualFold(id.Name, word) {
			is = true
		}
		return !is
	})
	return is
}
