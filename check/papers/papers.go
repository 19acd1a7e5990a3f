// Package papers has the checkers of papers, one per file, each a pipeline that reads like its paper. They serve for
// comparison, and run by name. A program that imports the package has them in check.All.
//
// Experimental: this package may still change.
package papers

import (
	"isovet/check/run"
	"isovet/internal/bounds"
)

func init() {
	run.Register(cobra{}, cobraRounds{}, biswasEnea{}, elleRegister{}, porcupineLib{}, viper{}, polysi{}, bc{},
		bc{full: true}, adya{}, adya{full: true}, emme{"emme-si", false}, emme{"emme-ser", true})

	bounds.Register("papers.maxFrontiers", &maxFrontiers)
	bounds.Register("papers.maxInduced", &maxInduced)
	bounds.Register("papers.maxStarts", &maxStarts)
}
