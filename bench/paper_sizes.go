package bench

import (
	"fmt"
	"strings"
)

// Sizes are a figure's axes at the papers' sizes: what the paper has, and what --full asks for. Machines, databases and
// GPUs are not axes.
type Sizes struct {
	Txns  int    // the most transactions of a history that --full makes; 0: they are databases', or of no number
	Paper string // in the paper's text; "not stated" where the axis is in its picture alone
	Full  string // what is not Txns, or falls short, and why
	// NoSize says of a figure that has no such axis what it is of.
	NoSize string
}

// theSame is how sizes begin that are the paper's.
const theSame = "the same"

// paperSizes is what the page of a figure at the full scale says of its sizes, without a full stop; "": nothing is
// known.
func paperSizes(figure string) string {
	s := figureNamed(figure).Sizes
	unstated, elsewhere := strings.CutPrefix(s.Paper, notStated)
	switch {
	case s.NoSize != "":
		return s.NoSize
	case s.Paper == "":
		return ""
	case s.Full == theSame:
		return fmt.Sprintf("These are the paper's sizes (%s)", s.Paper)
	case strings.HasPrefix(s.Paper, "as Figure") && s.Full == s.Paper:
		return "The sizes are those of " + strings.TrimPrefix(s.Paper, "as ")
	case elsewhere:
		return fmt.Sprintf("The paper's text does not state this figure's sizes%s. Here: %s", unstated, s.Full)
	}
	return fmt.Sprintf("Sizes in the paper: %s. Here: %s", s.Paper, s.Full)
}

// notStated is how a paper's sizes begin that its text does not state.
const notStated = "not stated"
