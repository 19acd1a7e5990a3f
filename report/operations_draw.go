package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Limits and sizes of a figure of operations.
const (
	maxOpsDrawn = 40
	nearOps     = 6 // of the others, by their calls, before the first and after the last
	opRow       = 26
	opStep      = 34
	opsLeft     = 104
)

// operationsTimeline draws the operations of a finding and their neighbours, one row for each process. Colours are
// those of Jepsen for outcomes. Calls and returns are equally far apart, since true times differ too much.
func operationsTimeline(w *Work, ops []int) string {
	if len(ops) == 0 || len(ops) > maxOpsDrawn {
		return ""
	}
	shown := slices.Clone(ops)
	for d := 1; d <= nearOps; d++ {
		for _, i := range []int{slices.Min(ops) - d, slices.Max(ops) + d} {
			if i >= 0 && i < len(w.H.Ops) && len(shown) < maxOpsDrawn {
				shown = append(shown, i)
			}
		}
	}
	slices.Sort(shown)
	shown = slices.Compact(shown)
	var at []int64 // all calls and returns
	var rows []int64
	for _, i := range shown {
		op := &w.H.Ops[i]
		at = append(at, op.Call)
		if op.Return != math.MaxInt64 {
			at = append(at, op.Return)
		}
		rows = append(rows, op.Process)
	}
	slices.Sort(at)
	at = slices.Compact(at)
	slices.Sort(rows)
	rows = slices.Compact(rows)
	x := func(t int64) int {
		n, is := slices.BinarySearch(at, t)
		if !is {
			n = len(at)
		}
		return opsLeft + n*opStep
	}
	width, height := x(math.MaxInt64)+opStep, len(rows)*opRow+8
	var b strings.Builder
	fmt.Fprintf(&b, `<svg class="jepsen" width="%d" height="%d" viewBox="0 0 %d %d" role="img" `+
		`aria-label="Operations by process">`, width, height, width, height)
	for n, p := range rows {
		fmt.Fprintf(&b, `<text class="sess" x="4" y="%d">process %d</text><path class="row" d="M%d,%d H%d"/>`,
			n*opRow+20, p, opsLeft, n*opRow+opRow+2, width)
	}
	slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(w.H.Ops[a].Call, w.H.Ops[b].Call) })
	for _, i := range shown {
		op, o := &w.H.Ops[i], w.Operation(i)
		n, _ := slices.BinarySearch(rows, op.Process)
		from, to := x(op.Call), x(op.Return)
		class := o.Status
		if slices.Contains(ops, i) {
			class += " found"
		}
		text := o.F + " " + o.Value
		if o.Result != "" {
			text = o.F + " → " + o.Result
		}
		fmt.Fprintf(&b, `<g class="o-%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="18" rx="3"/>`+
			`<text x="%d" y="%d">%s</text></g>`, class, esc(o.String()), from, n*opRow+6, max(to-from, 6), from+3,
			n*opRow+19, esc(clip(text, max(2, (to-from)/7))))
	}
	b.WriteString("</svg>")
	return b.String()
}
