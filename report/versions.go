package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"isovet/history"
	"isovet/internal/sorts"
)

// Limits of a figure of a key's versions.
const (
	maxMarkedKeys = 2
	maxMarks      = 10
)

// versionMark is a version on the time axis, at the commit of its writer.
type versionMark struct {
	at          int64
	x, s        float64
	y           float64
	text, about string
}

// markVersions adds a row for each key of an anomaly of timestamps. The row shows the versions that committed around
// that time: a snapshot must see the last version to the left of its begin.
func (f *timelineFigure) markVersions() {
	h := f.r.H
	if !f.r.Timestamps || !f.clock.scale || len(f.moments) == 0 {
		return
	}
	var keys []uint32
	for _, t := range f.s.txns {
		for _, op := range f.s.cells[t] {
			if k := h.OpKey(op); k != history.None && !slices.Contains(keys, k) && len(keys) < maxMarkedKeys {
				keys = append(keys, k)
			}
		}
	}
	for _, k := range keys {
		var all []uint32       // the writes that were installed meanwhile
		before := history.None // the last one of those before
		first, last := f.moments[0], f.moments[len(f.moments)-1]
		for op := range uint32(h.NumOps()) {
			if kind := h.Ops.Kind[op]; kind != history.Write && kind != history.Append || h.OpKey(op) != k {
				continue
			}
			t := h.TxnOf(op)
			at := h.CommitTS(t)
			switch n := len(all); {
			case at == history.NoTime || at > last || h.Txns.Status[t] == history.Aborted:
			case at < first:
				if before == history.None || h.CommitTS(h.TxnOf(before)) <= at {
					before = op
				}
			case n > 0 && h.TxnOf(all[n-1]) == t:
				all[n-1] = op // its last write is the one that is installed
			default:
				all = append(all, op)
			}
		}
		sorts.Func(all, func(a, b uint32) int {
			return cmp.Or(cmp.Compare(h.CommitTS(h.TxnOf(a)), h.CommitTS(h.TxnOf(b))), cmp.Compare(a, b))
		})
		if before != history.None {
			all = append([]uint32{before}, all...)
		}
		all = all[max(0, len(all)-maxMarks):]
		for _, op := range all {
			at := h.CommitTS(h.TxnOf(op))
			f.marks = append(f.marks, versionMark{at: at, x: f.xAt(at, f.x), s: f.xAt(at, f.scaled),
				y: f.height + 4, text: Clip(KeyName(h, k), 16) + "=" + Clip(h.ValueString(h.Ops.Ver[op]), 16),
				about: fmt.Sprintf("%s committed this version at %d", txnName(h, h.TxnOf(op)), at)})
		}
		if len(all) > 0 {
			f.height += 26
		}
	}
}

// xAt returns the position of a moment, which may lie between the begins and ends of the bars.
func (f *timelineFigure) xAt(at int64, x []float64) float64 {
	i, found := slices.BinarySearch(f.moments, at)
	switch {
	case found:
		return x[i]
	case i == 0:
		return x[0] - 8
	case i == len(f.moments):
		return x[i-1] + 8
	}
	return (x[i-1] + x[i]) / 2
}

// drawMarks writes the versions. It shortens each name to the space before the next mark.
func (f *timelineFigure) drawMarks(b *strings.Builder) {
	for i, m := range f.marks {
		room := 40
		if i+1 < len(f.marks) && f.marks[i+1].y == m.y {
			room = int((f.marks[i+1].x - m.x - 8) / charWidth)
		}
		fmt.Fprintf(b, `<g class="mark" data-x="%.1f" data-s="%.1f" transform="translate(%.1f,%.1f)"><title>%s: %s</title>`+
			`<path d="M0,4 l5,6 l-5,6 l-5,-6 z"/>`, m.x, m.s, m.x, m.y, esc(m.text), esc(m.about))
		if room > 2 {
			fmt.Fprintf(b, `<text class="op" x="8" y="14">%s</text>`, esc(Clip(m.text, room)))
		}
		b.WriteString(`</g>`)
	}
}

// drawMarkNames names the rows of versions at the left.
func (f *timelineFigure) drawMarkNames(b *strings.Builder) {
	for i, m := range f.marks {
		if i == 0 || f.marks[i-1].y != m.y {
			fmt.Fprintf(b, `<text class="sess" x="4" y="%.1f">versions</text>`, m.y+14)
		}
	}
}
