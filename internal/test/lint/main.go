// Lint finds mistakes by reading the code: every check of go vet and of staticcheck. It loads each package once for
// both, where the two programs one after the other take nearly twice the processor time.
//
//	go run ./internal/test/lint ./...
package main

import (
	"os"

	"golang.org/x/tools/go/analysis/suite/vet"
	"honnef.co/go/tools/analysis/lint"
	"honnef.co/go/tools/lintcmd"
	"honnef.co/go/tools/simple"
	"honnef.co/go/tools/staticcheck"
	"honnef.co/go/tools/stylecheck"
	"honnef.co/go/tools/unused"
)

func main() {
	cmd := lintcmd.NewCommand("lint")
	cmd.SetVersion("", "") // of the modules in go.mod
	cmd.ParseFlags(os.Args[1:])
	for _, a := range vet.Suite {
		doc := &lint.RawDocumentation{Title: a.Doc, Severity: lint.SeverityError}
		cmd.AddAnalyzers(&lint.Analyzer{Analyzer: a, Doc: doc})
	}
	cmd.AddAnalyzers(simple.Analyzers...)
	cmd.AddAnalyzers(staticcheck.Analyzers...)
	cmd.AddAnalyzers(stylecheck.Analyzers...)
	cmd.AddAnalyzers(unused.Analyzer)
	cmd.Run()
}
