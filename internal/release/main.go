// Command release writes the files that a release archive has beside the program: completions for four shells, a man
// page for each command, and the licences of the modules in the program. The file .goreleaser.yaml runs it:
//
//	go run ./internal/release DIR
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"isovet/internal/cli"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/release DIR")
		os.Exit(254)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	root := cli.Root()
	if err := completions(root, filepath.Join(dir, "completions")); err != nil {
		return err
	}
	man := filepath.Join(dir, "man")
	if err := os.MkdirAll(man, 0o755); err != nil {
		return err
	}
	root.DisableAutoGenTag = true
	if err := doc.GenManTree(root, &doc.GenManHeader{Title: "ISOVET", Section: "1", Source: "isovet"},
		man); err != nil {
		return err
	}
	return licences("isovet/cmd/isovet", filepath.Join(dir, "licenses"))
}

func completions(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, gen := range map[string]func(*bytes.Buffer) error{
		"isovet.bash": func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) },
		"isovet.fish": func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
		"isovet.ps1":  func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) },
		"_isovet":     func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
	} {
		var b bytes.Buffer
		if err := gen(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// licences copies the licence files of the modules in a program. A module without one is an error, since it must not
// be distributed without known terms.
func licences(program, dir string) error {
	c := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Dir}}{{end}}{{end}}",
		program)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		module, from, ok := strings.Cut(s.Text(), "\t")
		if !ok || seen[module] {
			continue
		}
		seen[module] = true
		if err := copyLicences(from, filepath.Join(dir, filepath.FromSlash(module))); err != nil {
			return fmt.Errorf("%s: %w", module, err)
		}
	}
	return nil
}

func copyLicences(from, to string) error {
	files, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	found := false
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		if f.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") &&
			!strings.HasPrefix(name, "NOTICE") {
			continue
		}
		b, err := os.ReadFile(filepath.Join(from, f.Name()))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(to, f.Name()), b, 0o644); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return fmt.Errorf("no licence file in %s", from)
	}
	return nil
}
