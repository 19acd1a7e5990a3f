// Package papers holds the checkers of papers, one file a pipeline that reads like its paper: to compare with, and run
// by name. Who imports it, if only for that, has them among check.All.
//
// Experimental: this package may still change.
package papers

import (
	"isovet/check/run"
	"isovet/internal/bounds"
)

func init() {
	run.Register(cobra{}, cobra{bySessions: true}, cobraRounds{}, biswasEnea{}, elleRegister{}, porcupineLib{}, viper{},
		viper{bySessions: true}, polysi{}, polysi{bySessions: true}, bc{}, bc{full: true}, adya{}, adya{full: true},
		emme{"emme-si", false}, emme{"emme-ser", true})

	bounds.Register("papers.maxFrontiers", &maxFrontiers)
	bounds.Register("papers.maxInduced", &maxInduced)
	bounds.Register("papers.maxStarts", &maxStarts)
}
