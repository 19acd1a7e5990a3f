// Command setpath gives the module another path: in go.mod, and wherever its packages are imported or named.
//
//	go run ./internal/setpath example.org/you/isovet
//
// A module that others can require without a replace line needs a path with a dot in its first part, from which it can
// be fetched. The path stands in go.mod and nowhere else by hand: run again with the old path, the command undoes
// itself.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/format"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	root := flag.String("C", ".", "the module's folder")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/setpath [-C FOLDER] example.org/you/isovet")
		os.Exit(2)
	}
	n, err := rewrite(*root, flag.Arg(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, "setpath:", err)
		os.Exit(1)
	}
	fmt.Printf("%d files have the path %s now; go build ./... finds it\n", n, flag.Arg(0))
}

// valid is what a module's path may be made of (golang.org/ref/mod#module-path), with a name at the end that is a
// package's.
var valid = regexp.MustCompile(`^[A-Za-z0-9_~][A-Za-z0-9._~-]*(/[A-Za-z0-9_~][A-Za-z0-9._~-]*)*$`)

// rewrite gives the module in a folder the path to, and returns how many files have changed. It reads and makes all
// before it writes any.
func rewrite(root, to string) (int, error) {
	if !valid.MatchString(to) || strings.HasSuffix(to, ".") {
		return 0, fmt.Errorf("%q is no module path; expected one such as example.org/you/isovet", to)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return 0, err
	}
	m := regexp.MustCompile(`(?m)^module\s+(\S+)`).FindSubmatch(mod)
	if m == nil {
		return 0, errors.New("go.mod has no module line")
	}
	r := &renamer{root: root, from: string(m[1]), to: to}
	quoted := regexp.QuoteMeta(r.from)
	// In pages: imports, what go get and go mod edit take, and lines of a go.mod.
	r.page = regexp.MustCompile(`("|(?:replace|require|get|install|module)[ =])` + quoted + `((?:/[A-Za-z0-9_./-]+)?)` +
		`("|@|=| |\n|$)`)
	r.mod = regexp.MustCompile(`(?m)(^|[\s(])` + quoted + `((?:/[A-Za-z0-9_./-]+)?)(\s|$)`)
	changed := map[string][]byte{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if n := d.Name(); path != root && strings.HasPrefix(n, ".") && n != ".ci" {
				return filepath.SkipDir
			}
			return nil
		}
		var edit func([]byte) ([]byte, error)
		switch {
		case d.Name() == "go.mod":
			edit = r.goMod
		case filepath.Ext(path) == ".go":
			edit = r.goFile
		case filepath.Ext(path) == ".md":
			edit = r.markdown
		default:
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !bytes.Contains(b, []byte(r.from)) {
			return nil
		}
		out, err := edit(b)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if !bytes.Equal(b, out) {
			changed[path] = out
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for path, b := range changed {
		info, err := os.Stat(path)
		if err != nil {
			return 0, err
		}
		if err := os.WriteFile(path, b, info.Mode().Perm()); err != nil {
			return 0, err
		}
	}
	return len(changed), nil
}

type renamer struct {
	root, from, to string
	page, mod      *regexp.Regexp
}

// ours reports whether a path is the module's or a package's of it, and not just a text that begins alike.
func (r *renamer) ours(path string) bool {
	rest, ok := strings.CutPrefix(path, r.from)
	if !ok || rest != "" && rest[0] != '/' {
		return false
	}
	info, err := os.Stat(filepath.Join(r.root, filepath.FromSlash(rest)))
	return err == nil && info.IsDir()
}

// goFile rewrites string literals that are a package's path, imports first of all.
func (r *renamer) goFile(src []byte) ([]byte, error) {
	var s scanner.Scanner
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(src))
	s.Init(file, src, nil, 0)
	var out []byte
	last := 0
	importing := false
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.IMPORT {
			importing = true
		} else if importing && (tok == token.FUNC || tok == token.VAR || tok == token.TYPE || tok == token.CONST) {
			importing = false
		}
		if tok != token.STRING || len(lit) < 2 {
			continue
		}
		// A backquoted text may have the path in quotes, as generated code and tests do.
		text := lit[1 : len(lit)-1]
		with := text
		switch {
		case r.ours(text) && (importing || text != r.from):
			with = r.to + text[len(r.from):]
		case lit[0] == '`' && strings.Contains(text, `"`+r.from+"/"):
			with = string(r.inPage([]byte(text)))
		}
		if with != text {
			at := file.Offset(pos)
			out = append(append(append(out, src[last:at+1]...), with...), lit[len(lit)-1])
			last = at + len(lit)
		}
	}
	if last == 0 {
		return src, nil
	}
	return format.Source(append(out, src[last:]...)) // imports are sorted anew
}

// markdown rewrites what a reader would type or copy.
func (r *renamer) markdown(b []byte) ([]byte, error) { return r.inPage(b), nil }

func (r *renamer) inPage(b []byte) []byte {
	return r.page.ReplaceAllFunc(b, func(found []byte) []byte {
		m := r.page.FindSubmatch(found)
		if !r.ours(r.from + string(m[2])) {
			return found
		}
		if string(m[1]) == `"` && len(m[2]) == 0 {
			return found // a text that is the project's name
		}
		return []byte(string(m[1]) + r.to + string(m[2]) + string(m[3]))
	})
}

// goMod rewrites the module's own path, and what other modules of this tree say of it.
func (r *renamer) goMod(b []byte) ([]byte, error) {
	return r.mod.ReplaceAll(b, []byte("${1}"+strings.ReplaceAll(r.to, "$", "$$")+"${2}${3}")), nil
}
