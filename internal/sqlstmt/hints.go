package sqlstmt

import (
	_ "embed"
	"strings"
)

// hints.tsv says, for reasons why a statement is not understood, which one would be.
//
//go:embed hints.tsv
var hintsTSV string

// hint returns the hint for a reason, or "".
func hint(why string) string {
	_, behind, _ := strings.Cut("\n"+hintsTSV, "\n"+why+"\t")
	text, _, _ := strings.Cut(behind, "\n")
	return text
}
