package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"isovet/evidence"
	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// MaxNodes bounds the transactions of a figure.
const MaxNodes = 60

// maxCells bounds the operations of a transaction in a figure.
const maxCells = 12

// depColor returns an edge's colour in DOT. For ww, wr, rw and rt it is Elle's, which readers of its plots know. Pages
// have other colours, which are legible on light and dark.
func depColor(d evidence.Dep) string {
	switch d {
	case evidence.WW:
		return "#C02700"
	case evidence.WR, evidence.PWR:
		return "#C000A5"
	case evidence.RW, evidence.PRW:
		return "#5B00C0"
	case evidence.RT:
		return "#0050C0"
	case evidence.SO:
		return "#00A0A0"
	}
	return "#707070"
}

// txnName names a transaction by its id in the file.
func txnName(h *history.History, t uint32) string {
	if t == h.Init {
		return "init"
	}
	return fmt.Sprintf("T%d", h.Txns.ID[t])
}

// KeyName returns a key as pages show it: as JSON, without quotes if it looks like a name.
func KeyName(h *history.History, k uint32) string {
	if k == history.None {
		return ""
	}
	s := h.KeyString(k)
	if n := len(s); n > 2 && s[0] == '"' && !strings.ContainsAny(s[1:n-1], `"\(), =`) && strings.Trim(s[1:n-1],
		"0123456789") != "" {
		return s[1 : n-1]
	}
	return s
}

// Clip shortens a text to n characters by cutting off its end.
func Clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// OpText writes an operation as the papers do, shortened to fit a cell.
func OpText(h *history.History, op uint32) string {
	v, kind := h.Ops.Ver[op], h.Ops.Kind[op]
	switch kind {
	case history.ReadList:
		s := strings.Join(slice.Map(h.Elems(v), h.ValueString), " ")
		if r := []rune(s); len(r) > 28 {
			s = string(r[:13]) + " … " + string(r[len(r)-13:])
		}
		return fmt.Sprintf("r %s [%s]", Clip(KeyName(h, h.OpKey(op)), 24), s)
	case history.PredRead, history.PredWrite:
		return fmt.Sprintf("%s %s: %s", kind, Clip(string(h.Texts.Text(h.Preds.Pred[v])), 40), matched(h, v))
	}
	text := fmt.Sprintf("%s %s %s", kind, Clip(KeyName(h, h.OpKey(op)), 24), Clip(h.ValueString(v), 24))
	if h.Locking(op) {
		text += " for update"
	}
	return text
}

// matched names the rows that a predicate operation matched. p is its place in Preds.
func matched(h *history.History, p uint32) string {
	var rows []string
	for i := h.Preds.Off[p]; i < h.Preds.Off[p+1]; i++ {
		if h.Preds.Old[i] == history.None && h.Preds.New[i] == history.None {
			continue
		}
		if len(rows) == 3 {
			rows = append(rows, "…")
			break
		}
		rows = append(rows, Clip(KeyName(h, h.RowKey(i)), 16))
	}
	if len(rows) == 0 {
		return "nothing"
	}
	return strings.Join(rows, ", ")
}

// edgeLabel returns an edge's dependency and key.
func edgeLabel(h *history.History, e evidence.Edge) string {
	if e.Key == history.None {
		return e.Dep.String()
	}
	return e.Dep.String() + " " + Clip(KeyName(h, e.Key), 20)
}

// arrowTitle names the two transactions of an edge. The page's script replaces it by the edge's sentence.
func arrowTitle(h *history.History, e evidence.Edge) string {
	return fmt.Sprintf("%s —%s→ %s", txnName(h, e.From), edgeLabel(h, e), txnName(h, e.To))
}

// why says in words why an edge holds, like the text of the proof, but with times in readable units.
func why(h *history.History, e evidence.Edge) string {
	if e.Dep == evidence.RT && !h.Positions { // the times themselves are in the table of the transactions
		return fmt.Sprintf("%s < %s, because %s ended %s before %s began.", txnName(h, e.From), txnName(h, e.To),
			txnName(h, e.From), spanText(between64(h.End(e.From), h.Start(e.To))), txnName(h, e.To))
	}
	for line := range strings.Lines(evidence.Describe(&evidence.Anomaly{Cycle: []evidence.Edge{e}}, h)) {
		if strings.Contains(line, ", because ") {
			return short(strings.TrimSpace(line), h, e)
		}
	}
	return fmt.Sprintf("%s < %s (%s)", txnName(h, e.From), txnName(h, e.To), edgeLabel(h, e))
}

// maxWhy bounds the characters of a sentence.
const maxWhy = 600

// short shortens the key and the values in a long sentence about an edge.
func short(line string, h *history.History, e evidence.Edge) string {
	if utf8.RuneCountInString(line) <= maxWhy {
		return line
	}
	var long [2]string
	if e.Key != history.None {
		long[0] = strings.Trim(h.KeyString(e.Key), `"`)
	}
	if e.Ver != history.None {
		long[1] = h.ValueString(e.Ver)
	}
	for _, s := range long {
		if len(s) > 60 {
			line = strings.ReplaceAll(line, s, Clip(s, 60))
		}
	}
	return Clip(line, maxWhy)
}

// scene is the content of a figure: transactions, the operations to show of each, and edges.
type scene struct {
	h     *history.History
	txns  []uint32
	at    map[uint32]int      // transaction → index in txns
	cells map[uint32][]uint32 // transaction → operations shown
	cut   map[uint32]bool     // transaction → has operations that are not shown
	shown map[uint32]bool     // operations that prove something by themselves
	edges []evidence.Edge     // without repetition
	left  int                 // transactions left out
	path  []uint32            // transactions in the order of a valid history
	alone bool                // it is one for each key, in turn
	// witness has the transactions outside all cycles: they only wrote a version that others read, or their read shows
	// the order of a list. They did nothing wrong.
	witness map[uint32]bool
	order   map[evidence.Edge]uint32 // the read that shows the order on which a ww edge of a list rests
}

// newScene collects the transactions and operations of the anomalies, at most MaxNodes transactions.
func newScene(h *history.History, anomalies []evidence.Anomaly) *scene {
	s := &scene{h: h, at: map[uint32]int{}, cells: map[uint32][]uint32{}, cut: map[uint32]bool{},
		shown: map[uint32]bool{}, witness: map[uint32]bool{}, order: map[evidence.Edge]uint32{}}
	refused := map[uint32]bool{}
	add := func(t uint32) bool {
		if t == history.None {
			return false
		}
		if _, ok := s.at[t]; ok {
			return true
		}
		if len(s.txns) == MaxNodes {
			refused[t] = true
			return false
		}
		s.at[t] = len(s.txns)
		s.txns = append(s.txns, t)
		return true
	}
	keys := map[uint32]bool{}
	had := map[evidence.Edge]bool{}
	predicates := false
	for _, a := range slice.Refs(anomalies) {
		for _, op := range a.Ops {
			s.shown[op] = true
			keys[h.OpKey(op)] = true
			if k := h.Ops.Kind[op]; k == history.PredRead || k == history.PredWrite {
				keys[a.Key] = true
			}
			add(h.TxnOf(op))
		}
		for _, op := range slices.Concat(a.Dead...) { // why those who wrote it cannot have committed
			s.shown[op] = true
			add(h.TxnOf(op))
		}
		cycles := slices.Concat(a.AllCycles()...)
		for _, e := range cycles {
			if from, to := add(e.From), add(e.To); from && to && !had[e] {
				had[e] = true
				s.edges = append(s.edges, e)
				keys[e.Key] = true
				predicates = predicates || e.Dep == evidence.PWR || e.Dep == evidence.PRW
			}
		}
		inCycles := len(s.txns)
		s.showOrders(add)
		for _, t := range a.Txns {
			add(t)
		}
		if len(cycles) > 0 {
			for _, t := range s.txns[inCycles:] {
				s.witness[t] = true
			}
		}
	}
	for _, t := range writersSeen(h, anomalies) {
		if _, ok := s.at[t]; !ok && add(t) {
			s.witness[t] = true
		}
	}
	s.left = len(refused)
	delete(keys, history.None)
	s.choose(keys, predicates)
	return s
}

// showOrders adds the transactions whose reads show the version orders behind ww edges.
func (s *scene) showOrders(add func(t uint32) bool) {
	for _, e := range s.edges {
		if _, had := s.order[e]; had || e.Dep != evidence.WW {
			continue
		}
		op := evidence.ShownBy(s.h, e)
		if s.order[e] = op; op != history.None {
			s.shown[op] = true
			add(s.h.TxnOf(op))
		}
	}
}

// choose selects the operations that get a cell: those of the anomalies, and those on the keys.
func (s *scene) choose(keys map[uint32]bool, predicates bool) {
	h := s.h
	for _, t := range s.txns {
		for op := range h.EachOp(t) {
			wanted := s.shown[op] || predicates && h.OpKey(op) == history.None
			EachKey(h, op, func(k uint32, _, _ bool) { wanted = wanted || keys[k] })
			if wanted && (len(s.cells[t]) < maxCells || s.shown[op]) {
				s.cells[t] = append(s.cells[t], op)
			} else {
				s.cut[t] = true
			}
		}
	}
}

// writersSeen returns the writers of the versions that impossible reads saw.
func writersSeen(h *history.History, anomalies []evidence.Anomaly) (out []uint32) {
	seen := map[uint32]bool{} // versions
	for _, a := range slice.Refs(anomalies) {
		if a.Kind == level.NonLinearizable { // the operations under way are all that matters
			continue
		}
		for _, op := range a.Ops {
			switch h.Ops.Kind[op] {
			case history.Read:
				seen[h.Ops.Ver[op]] = true
			case history.PredRead, history.PredWrite:
				p := h.Ops.Ver[op]
				for j := h.Preds.Off[p]; j < h.Preds.Off[p+1]; j++ {
					if v := h.Preds.Old[j]; v != history.None && h.VerKey[v] == a.Key {
						seen[v] = true
					}
				}
			}
		}
	}
	if len(seen) == 0 {
		return nil
	}
	for op, kind := range h.Ops.Kind {
		wrote := kind == history.Write && seen[h.Ops.Ver[op]]
		if kind == history.PredWrite {
			p := h.Ops.Ver[op]
			for _, v := range h.Preds.New[h.Preds.Off[p]:h.Preds.Off[p+1]] {
				wrote = wrote || v != history.None && seen[v]
			}
		}
		if wrote {
			out = append(out, h.TxnOf(uint32(op)))
		}
	}
	return out
}

// ends returns the operations where an edge starts and ends. None stands for the whole transaction.
func (s *scene) ends(e evidence.Edge) (from, to uint32) {
	switch e.Dep {
	case evidence.WR:
		return s.write(e.From, e.Key, e.Ver), s.read(e.To, e.Key, e.Ver)
	case evidence.WW:
		return s.write(e.From, e.Key, history.None), s.write(e.To, e.Key, e.Ver)
	case evidence.RW:
		return s.read(e.From, e.Key, e.Ver), s.write(e.To, e.Key, history.None)
	case evidence.PWR:
		return s.write(e.From, e.Key, history.None), s.cell(e.To, e.Op)
	case evidence.PRW:
		return s.cell(e.From, e.Op), s.write(e.To, e.Key, history.None)
	}
	return history.None, history.None
}

// cell returns op if it is shown, otherwise None.
func (s *scene) cell(t, op uint32) uint32 {
	if slices.Contains(s.cells[t], op) {
		return op
	}
	return history.None
}

// write finds the shown write of a version, or the last shown write of its key.
func (s *scene) write(t, key, ver uint32) uint32 {
	found := history.None
	for _, op := range s.cells[t] {
		if _, writes := touches(s.h, op, key); writes {
			if found = op; holds(s.h, op, ver) {
				return op
			}
		}
	}
	return found
}

// read finds the shown read of a version, or the first shown read of its key.
func (s *scene) read(t, key, ver uint32) uint32 {
	found := history.None
	for _, op := range s.cells[t] {
		if reads, _ := touches(s.h, op, key); reads {
			if holds(s.h, op, ver) {
				return op
			}
			if found == history.None {
				found = op
			}
		}
	}
	return found
}

// touches reports whether an operation reads a key and whether it writes it.
func touches(h *history.History, op, key uint32) (reads, writes bool) {
	EachKey(h, op, func(k uint32, r, w bool) {
		if k == key {
			reads, writes = reads || r, writes || w
		}
	})
	return reads, writes
}

// holds reports whether an operation read or wrote a version.
func holds(h *history.History, op, ver uint32) bool {
	v := h.Ops.Ver[op]
	switch h.Ops.Kind[op] {
	case history.PredRead, history.PredWrite:
		lo, hi := h.Preds.Off[v], h.Preds.Off[v+1]
		return ver != history.None && slices.Contains(slices.Concat(h.Preds.Old[lo:hi], h.Preds.New[lo:hi]), ver)
	case history.ReadList:
		return false
	}
	return v == ver
}
