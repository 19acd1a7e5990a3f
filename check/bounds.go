package check

import "isovet/internal/bounds"

func init() {
	bounds.Register("check.maxRelaxed", &maxRelaxed)
	bounds.Register("check.fewVersions", &fewVersions)
	bounds.Register("check.manyVersions", &manyVersions)
	bounds.Register("check.maxTried", &maxTried)
	bounds.Register("check.fewChoices", &fewChoices)
	bounds.Register("check.fewWork", &fewWork)
}
