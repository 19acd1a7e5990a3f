package bench

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Figure is a table or a figure of a paper's evaluation, measured again on this machine.
type Figure struct {
	ID    string // "vbox/fig6": the paper's key in lower case, and the name in it
	Title string
	// Where is the place in the paper.
	Where string
	// Metrics are the measured values. Each has a table and a chart.
	Metrics []Metric
	// Axis says what the groups are: workload, transactions.
	Axis string
	// Numeric says that the groups are numbers. Charts then have lines, otherwise bars.
	Numeric bool
	// Linear says that charts have no logarithmic axis.
	Linear bool
	// Own says that the claims are isovet's own bounds, not a paper's.
	Own bool
	Sizes
	// Histories describes the histories of a figure that does not make them from workloads.
	Histories string
	// Notes are those of every report about it, behind what is noted while it is measured.
	Notes []string
	// Papers are the paper's values, if its text or a table has them: by metric, group and series, separated by ", ";
	// "*" is any group.
	Papers map[string]string
	// Says are the paper's claims about it. Bounds, for our own figures, makes claims from the points.
	Says   []Saying                 `json:"-"`
	Bounds func(r *Report) []Saying `json:"-"`
	// Measure adds points to the report as they are measured. It returns ctx's error, or a fault.
	Measure measuring `json:"-"`
}

type measuring = func(ctx context.Context, lab *Lab, r *Report) error

// Metric is one measured quantity.
type Metric struct{ Key, Label, Unit string }

// figuresJSON has the figures in the papers' order, one on each line.
//
//go:embed figures.jsonl
var figuresJSON string

// measures maps each figure to the function that measures it.
var measures = map[string]measuring{
	"vbox/table1":           vboxTable1,
	"vbox/fig6":             vboxFig6,
	"vbox/fig7":             vboxFig7,
	"vbox/fig8a":            vboxFig8a,
	"vbox/fig8b":            vboxFig8b,
	"vbox/fig9":             vboxFig9,
	"vbox/fig9-hard":        vboxHard,
	"vbox/memory":           vboxMemory,
	"vbox/table2":           vboxTable2,
	"leopard/fig3":          leopardFig3,
	"leopard/fig9":          leopardFig9,
	"leopard/fig10":         leopardFig10,
	"leopard/fig11":         leopardFig11,
	"leopard/fig12":         leopardFig12,
	"leopard/fig13":         leopardFig13,
	"leopard/elle":          leopardElle,
	"chronos/fig4":          chronosFig4,
	"chronos/fig5a":         chronosFig5a,
	"chronos/fig5b":         chronosFig5b,
	"chronos/fig6":          chronosFig6,
	"chronos/fig7":          chronosFig7,
	"chronos/fig8":          chronosFig8,
	"chronos/fig9":          chronosFig9,
	"chronos/fig10":         chronosFig10,
	"chronos/fig11":         chronosFig11,
	"chronos/fig24":         chronosFig24,
	"aion/fig12":            aionFig12,
	"aion/fig13":            aionFig13,
	"aion/fig14":            aionFig14,
	"aion/fig17":            aionFig17,
	"aion/fig25":            aionFig25,
	"aion/fig16":            aionFig16,
	"aion/online-rate":      byWatch(aionOnlineRate),
	"aion/online-flips":     byWatch(aionOnlineFlips),
	"aion/online-datasets":  byWatch(aionDatasets),
	"aion/fig23":            byWatch(aionFig23),
	"aion/fig20":            byWatch(aionFig20),
	"aion/online-rectified": byWatch(aionRectified),
	"aion/overhead":         byWatch(aionOverhead),
	"aion/online-memory":    byWatch(aionOnlineMemory),
	"mtc/fig7":              mtcFig7,
	"mtc/fig8":              mtcFig8,
	"mtc/fig9":              mtcFig9,
	"mtc/fig10":             mtcFig10,
	"mtc/fig11":             mtcFig11,
	"mtc/fig13":             mtcFig13,
	"mtc/fig14":             mtcFig14,
	"mtc/fig17":             mtcFig17,
	"mtc/table2":            mtcTable2,
	"bc/fig1":               bcFig1,
	"bc/fig2":               bcFig2,
}

// figuresRead is not made by sync.OnceValue: measuring a figure asks for its claims, an initialization cycle.
var figuresRead struct {
	once sync.Once
	all  []Figure
}

// Figures returns all figures in the papers' order.
func Figures() []Figure {
	figuresRead.once.Do(func() { figuresRead.all = readFigures() })
	return slices.Clone(figuresRead.all)
}

func readFigures() (all []Figure) {
	says := claimsTable()
	for line := range strings.Lines(figuresJSON) {
		var f Figure
		if err := json.Unmarshal([]byte(line), &f); err != nil {
			panic(fmt.Sprintf("figures.jsonl:%d: %v", len(all)+1, err))
		}
		f.Says, f.Measure = says[f.ID], measures[f.ID]
		if f.Own {
			f.Bounds = hardBounds
		}
		all = append(all, f)
	}
	return all
}

// figureNamed returns a figure by its ID. It is empty if there is no such figure any more.
func figureNamed(id string) (named Figure) {
	for _, f := range Figures() {
		if f.ID == id {
			return f
		}
	}
	return named
}

// Sizes are the sizes along a figure's axes: the paper's, and those of --full. Machines, databases and GPUs are no
// axes.
type Sizes struct {
	Txns  int    // the most transactions of a history that --full makes; 0: they are databases', or of no number
	Paper string // in the paper's text; "not stated" where the axis is in its picture alone
	Full  string // what is not Txns, or falls short, and why
	// NoSize describes a figure that has no such axis.
	NoSize string
}

// theSame begins the text for sizes that equal the paper's.
const theSame = "the same"

// paperSizes returns the sentence about sizes for the page of a figure at the full scale, without a full stop, or "".
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

// notStated begins the text for sizes that the paper does not state.
const notStated = "not stated"
