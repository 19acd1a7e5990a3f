package run

import "isovet/internal/bounds"

func init() {
	bounds.Register("run.fewPairs", &fewPairs)
	bounds.Register("run.fewTimed", &fewTimed)
	bounds.Register("run.maxPairs", &maxPairs)
	bounds.Register("run.narrowWords", &narrowWords)
	bounds.Register("run.fewLeft", &fewLeft)
	bounds.Register("run.maxClosure", &MaxClosure)
	bounds.Register("run.maxBased", &MaxBased)
	bounds.Register("run.maxPruned", &maxPruned)
	bounds.Register("run.firstCuts", &firstCuts)
	bounds.Register("run.moreCuts", &moreCuts)
	bounds.Register("run.maxWindows", &maxWindows)
	bounds.Register("run.windowTxns", &windowTxns)
	bounds.Register("run.maxTrial", &MaxTrial)
	bounds.Register("run.maxCases", &maxCases)
	bounds.Register("run.caseWork", &caseWork)
	bounds.Register("run.fewConflicts", &fewConflicts)
	bounds.Register("run.maxExplained", &maxExplained)
	bounds.Register("run.maxCandidates", &maxCandidates)
	bounds.Register("run.maxStamped", &maxStamped)
	bounds.Register("run.maxEager", &maxEager)
}
