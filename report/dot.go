package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/escape"
	"isovet/internal/plural"
)

// DOT writes a violation as a Graphviz graph in Elle's look. A transaction is a record with a cell for each operation.
// An edge leads from one operation to an operation that must follow; its label names the dependency. The graph has at
// most MaxNodes transactions. For a verdict other than "violation" it is empty.
func DOT(w io.Writer, r *evidence.Result) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "digraph history {\n")
	label := fmt.Sprintf("%s: %s", r.Label(), r.Verdict)
	if r.Verdict != evidence.Violated || r.H == nil {
		if r.Reason != "" {
			label += ": " + r.Reason
		}
		fmt.Fprintf(b, "  label=%s\n}\n", escape.DOT(label))
		return b.Flush()
	}
	s := newScene(r.H, r.Anomalies)
	for i := range r.Anomalies[:min(len(r.Anomalies), 3)] {
		label += "\n" + r.Anomalies[i].Title(r.H)
	}
	if s.left > 0 {
		label += fmt.Sprintf("\n%s not drawn", plural.Of(s.left, "transaction"))
	}
	fmt.Fprintf(b, "  label=%s\n", escape.DOT(label))
	fmt.Fprintf(b, "  labelloc=t\n  fontname=\"Helvetica\"\n  node [shape=record, fontname=\"Helvetica\", "+
		"fontsize=11, color=\"#404040\"]\n")
	fmt.Fprintf(b, "  edge [fontname=\"Helvetica\", fontsize=10]\n")
	for _, t := range s.txns {
		cells := []string{"<t> " + escape.Record(txnName(r.H, t)+statusMark(r.H, t))}
		for _, op := range s.cells[t] {
			cells = append(cells, fmt.Sprintf("<o%d> %s", op, escape.Record(OpText(r.H, op))))
		}
		if s.cut[t] {
			cells = append(cells, "…")
		}
		fmt.Fprintf(b, "  n%d [label=\"%s\", tooltip=%s]\n", t, strings.Join(cells, "|"), escape.DOT(txnTip(r.H, t)))
	}
	for _, e := range s.edges {
		from, to := s.ends(e)
		c := depColor(e.Dep)
		fmt.Fprintf(b, "  n%d:%s -> n%d:%s [label=%s, color=\"%s\", fontcolor=\"%s\", tooltip=%s]\n", e.From,
			port(from), e.To, port(to), escape.DOT(edgeLabel(r.H, e)), c, c, escape.DOT(why(r.H, e)))
	}
	b.WriteString("}\n")
	return b.Flush()
}

func port(op uint32) string {
	if op == history.None {
		return "t"
	}
	return fmt.Sprintf("o%d", op)
}

// statusMark returns the outcome of a transaction in brackets, or "" if it committed.
func statusMark(h *history.History, t uint32) string {
	if s := h.Txns.Status[t]; s != history.Committed {
		return " (" + s.String() + ")"
	}
	return ""
}

// txnTip returns the text that appears over a transaction: its id, outcome and other data from the file.
func txnTip(h *history.History, t uint32) string {
	var b strings.Builder
	fmt.Fprintf(&b, "transaction %d, %s", h.Txns.ID[t], h.Txns.Status[t])
	if s := h.SessName[h.Txns.Sess[t]]; s != history.NoTime {
		fmt.Fprintf(&b, ", session %d", s)
	}
	if h.Txns.Line[t] > 0 {
		fmt.Fprintf(&b, ", line %d", h.Txns.Line[t])
	}
	if s := h.Start(t); s != history.NoTime {
		fmt.Fprintf(&b, ", start %d", s)
	}
	if s := h.End(t); s != history.NoTime {
		fmt.Fprintf(&b, ", end %d", s)
	}
	if n := h.Txns.Node; n != nil && n[t] != history.None {
		fmt.Fprintf(&b, ", node %s", h.Texts.Text(n[t]))
	}
	if n := h.Txns.Name; n != nil && n[t] != history.None {
		fmt.Fprintf(&b, ", %s", h.Texts.Text(n[t]))
	}
	return b.String()
}
