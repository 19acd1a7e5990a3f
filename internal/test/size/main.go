// Command size prints the size of this repository beside its bounds: lines, folders, files a package, fields a struct,
// lines a function.
//
//	go run ./internal/test/size [-v] [FOLDER]
//
// Lines of tests are those of _test.go files and of internal/test, which is only for tests. contrib, with modules of
// its own, is counted separately. Folders named testdata do not count. -v lists what exceeds a bound.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The bounds for single things, and for the number of things that may exceed them.
const (
	maxLines, maxTests, maxFolders = 180_000, 84_000, 20
	maxFiles, maxPackages          = 25, 2
	maxFields, maxStructs          = 25, 6
	maxFuncLines, maxFuncs         = 70, 60
	maxFileLines                   = 500
)

// sized is a thing with its size.
type sized struct {
	name string
	size int
}

// tree has the counts of a repository.
type tree struct {
	lines, tests, contrib int
	folders               map[string]bool
	files                 map[string]int // of a package, without tests
	structs, funcs, long  []sized        // above their bounds
}

func main() {
	verbose := flag.Bool("v", false, "name what is over a bound")
	flag.Parse()
	top := "."
	if flag.NArg() > 0 {
		top = flag.Arg(0)
	}
	t, err := count(top)
	if err == nil {
		err = t.write(os.Stdout, *verbose)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "size:", err)
		os.Exit(1)
	}
}

// count counts all files in a folder.
func count(top string) (*tree, error) {
	t := &tree{folders: map[string]bool{}, files: map[string]int{}}
	return t, filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(top, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		name = filepath.ToSlash(name)
		if first, _, deep := strings.Cut(name, "/"); deep {
			t.folders[first] = true
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return t.file(name, src)
	})
}

// file counts a file of Go.
func (t *tree) file(name string, src []byte) error {
	n := bytes.Count(src, []byte("\n"))
	if strings.HasPrefix(name, "contrib/") {
		t.contrib += n
		return nil
	}
	if n > maxFileLines {
		t.long = append(t.long, sized{name, n})
	}
	if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "internal/test/") {
		t.tests += n
		return nil
	}
	t.lines += n
	t.files[filepath.ToSlash(filepath.Dir(name))]++
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	line := func(p token.Pos) int { return set.Position(p).Line }
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lines := line(n.End()) - line(n.Pos()) + 1; lines > maxFuncLines {
				t.funcs = append(t.funcs, sized{name + ": " + n.Name.Name, lines})
			}
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok && s.Fields.NumFields() > maxFields {
				t.structs = append(t.structs, sized{name + ": " + n.Name.Name, s.Fields.NumFields()})
			}
		}
		return true
	})
	return nil
}

// write prints each count beside its bound.
func (t *tree) write(w io.Writer, verbose bool) error {
	var packages []sized
	for name, n := range t.files {
		if n > maxFiles {
			packages = append(packages, sized{name, n})
		}
	}
	var out bytes.Buffer
	row := func(what string, n, bound int, over ...sized) {
		says := ""
		if n > bound {
			says = "over"
		}
		fmt.Fprintf(&out, "%-48s %8d  of %7d  %s\n", what, n, bound, says)
		slices.SortFunc(over, func(a, b sized) int { return b.size - a.size })
		for _, x := range over {
			if verbose {
				fmt.Fprintf(&out, "  %6d %s\n", x.size, x.name)
			}
		}
	}
	row("lines of Go without tests", t.lines, maxLines)
	row("lines of tests, internal/test included", t.tests, maxTests)
	row("folders at the top", len(t.folders), maxFolders)
	row(fmt.Sprintf("packages of more than %d files", maxFiles), len(packages), maxPackages, packages...)
	row(fmt.Sprintf("structs of more than %d fields", maxFields), len(t.structs), maxStructs, t.structs...)
	row(fmt.Sprintf("functions of more than %d lines", maxFuncLines), len(t.funcs), maxFuncs, t.funcs...)
	row(fmt.Sprintf("files of more than %d lines", maxFileLines), len(t.long), 0, t.long...)
	fmt.Fprintf(&out, "%-48s %8d\n", "lines of Go in contrib", t.contrib)
	_, err := w.Write(out.Bytes())
	return err
}
