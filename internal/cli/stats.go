package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"isovet/history"
	"isovet/internal/heap"
)

// historyStats is what "isovet stats" says of a history.
type historyStats struct {
	History   string `json:"history"`
	Name      string `json:"name,omitempty"`
	DB        string `json:"db,omitempty"`
	Isolation string `json:"isolation,omitempty"`
	Workload  string `json:"workload,omitempty"`
	Note      string `json:"note,omitempty"`

	Txns int `json:"txns"`
	// writers whom the file has no record of, of unknown outcome; not in txns
	Invented  int `json:"invented_writers,omitempty"`
	Committed int `json:"committed"`
	Aborted   int `json:"aborted"`
	Unknown   int `json:"unknown"`
	ReadOnly  int `json:"read_only"`
	WriteOnly int `json:"write_only"`
	ReadWrite int `json:"read_write"`
	// writes of the initial transaction, which is counted nowhere else but in txns and ops
	Initial  int `json:"initial_writes"`
	Sessions int `json:"sessions"`

	Ops        int `json:"ops"`
	Reads      int `json:"reads"`
	NullReads  int `json:"null_reads"`
	Writes     int `json:"writes"`
	Deletes    int `json:"deletes"`
	Appends    int `json:"appends"`
	ListReads  int `json:"list_reads"`
	PredReads  int `json:"predicate_reads"`
	PredWrites int `json:"predicate_writes"`
	MaxOps     int `json:"max_ops"` // of a transaction

	Keys     int `json:"keys"`
	Versions int `json:"versions"`
	// UniqueValues: no value was written to a key twice, the initial value counted; deletes aside.
	UniqueValues bool `json:"unique_values"`
	Duplicates   int  `json:"duplicate_values"` // versions written more than once

	Times timeStats `json:"times"`

	Notes []history.Note `json:"notes,omitempty"` // what the reader has to say of the file
}

// timeStats counts the transactions (for ops: the operations) that carry a time.
type timeStats struct {
	Start    int `json:"start"`
	Commit   int `json:"commit"`
	End      int `json:"end"`
	StartTS  int `json:"start_ts"`
	CommitTS int `json:"commit_ts"`
	Ops      int `json:"ops"`

	DurationMS float64 `json:"duration_ms"`
	// Overlap is the share of transactions, in the order of their starts, that begin before their predecessor has
	// ended; Concurrent is the most that were open at one moment. Both over transactions with start and end.
	Overlap    float64 `json:"overlap"`
	Concurrent int     `json:"max_concurrent"`
}

func newStats(e *env) *cobra.Command {
	var asJSON bool
	var from loading
	c := &cobra.Command{
		Use: "stats [flags] HISTORY…", GroupID: "work",
		Short: "Say what is in a history",
		Long: `stats reads histories ("-" is standard input) and says what is in them: transactions and their outcomes, sessions,
operations, keys, whether values are unique (most checkers need that), which times are present (the strict levels need
start and end), and how much the transactions overlap in time.`,
		Example:           "  isovet stats h.jsonl\n  isovet stats --json *.jsonl.zst",
		Args:              exactly("HISTORY…"),
		ValidArgsFunction: historyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			worst := statusOK
			for i, path := range from.histories(args) {
				s, err := statsOf(c.Context(), e, path, from)
				if err != nil {
					if c.Context().Err() != nil {
						return orInterrupted(err, "loading "+path)
					}
					fmt.Fprintf(e.stderr, "isovet: %v\n", err)
					worst = worse(worst, statusOf(err))
					continue
				}
				if asJSON {
					err = jsonLine(e.stdout, s)
				} else {
					if i > 0 {
						fmt.Fprintln(e.stdout)
					}
					err = s.text(e.stdout)
				}
				if err != nil {
					return err
				}
			}
			return status(worst)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line for each history")
	from.flags(c, "format", "the files")
	from.togetherFlag(c)
	return c
}

// statsOf loads a history and looks at it.
func statsOf(ctx context.Context, e *env, path string, from loading) (*historyStats, error) {
	return guard(ctx, limits{}, func() string { return "loading " + path }, func(ctx context.Context) (*historyStats,
		error) {
		h, err := loadHistory(ctx, path, from)
		if err != nil {
			return nil, err
		}
		e.sayNotes(path, h)
		return newHistoryStats(path, h), nil
	})
}

func newHistoryStats(path string, h *history.History) *historyStats {
	s := &historyStats{History: path, Name: h.Meta.Name, DB: h.Meta.DB, Isolation: h.Meta.Isolation,
		Workload: h.Meta.Workload, Note: h.Meta.Note,
		Notes: h.Notes, Txns: h.NumTxns() - h.Invented(), Invented: h.Invented(), Sessions: h.NumSessions(),
		Ops: h.NumOps(), Keys: h.NumKeys(), Versions: h.NumVersions()}
	if h.Init != history.None {
		s.Sessions-- // the initial transaction belongs to no session
	}
	written := make([]uint8, h.NumVersions())
	note := func(v uint32) {
		if h.VerKind[v] == history.Null {
			return
		}
		if written[v] < 2 {
			written[v]++
		}
	}
	if h.Init == history.None {
		for _, v := range h.InitVer {
			if v != history.None {
				note(v)
			}
		}
	}
	for t := range uint32(h.NumTxns()) {
		lo, hi := h.TxnOps(t)
		reads, writes := 0, 0
		for op := lo; op < hi; op++ {
			v := h.Ops.Ver[op]
			switch h.Ops.Kind[op] {
			case history.Read:
				s.Reads++
				reads++
				if h.VerKind[v] == history.Null {
					s.NullReads++
				}
			case history.Write:
				s.Writes++
				writes++
				if h.VerKind[v] == history.Null {
					s.Deletes++
				}
				note(v)
			case history.Append:
				s.Appends++
				writes++
				note(v)
			case history.ReadList:
				s.ListReads++
				reads++
			case history.PredRead:
				s.PredReads++
				reads++
			case history.PredWrite:
				s.PredWrites++
				reads, writes = reads+1, writes+1
				for _, n := range h.Preds.New[h.Preds.Off[v]:h.Preds.Off[v+1]] {
					if n != history.None {
						note(n)
					}
				}
			}
		}
		if t == h.Init {
			s.Initial = writes
			continue
		}
		s.MaxOps = max(s.MaxOps, int(hi-lo))
		switch h.Txns.Status[t] {
		case history.Committed:
			s.Committed++
		case history.Aborted:
			s.Aborted++
		case history.Unknown:
			s.Unknown++
		}
		switch {
		case reads > 0 && writes > 0:
			s.ReadWrite++
		case writes > 0:
			s.WriteOnly++
		case reads > 0:
			s.ReadOnly++
		}
	}
	s.Unknown -= s.Invented
	for _, n := range written {
		if n > 1 {
			s.Duplicates++
		}
	}
	s.UniqueValues = s.Duplicates == 0
	s.Times = newTimeStats(h)
	return s
}

func newTimeStats(h *history.History) timeStats {
	have := func(col []int64) (n int) {
		for _, x := range col {
			if x != history.NoTime {
				n++
			}
		}
		return n
	}
	x := &h.Txns
	s := timeStats{Start: have(x.Start), Commit: have(x.Commit), End: have(x.End), StartTS: have(x.StartTS),
		CommitTS: have(x.CommitTS), Ops: have(h.Ops.Start)}
	type span struct{ start, end int64 }
	var spans []span
	for t := range uint32(h.NumTxns()) {
		if a, z := h.Start(t), h.End(t); t != h.Init && a != history.NoTime && z != history.NoTime {
			spans = append(spans, span{a, z})
		}
	}
	if len(spans) == 0 {
		return s
	}
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end,
			b.end))
	})
	last := spans[0].end
	overlaps := 0
	var open heap.Heap[int64, int32] // ends
	for i, p := range spans {
		if i > 0 && p.start < spans[i-1].end {
			overlaps++
		}
		last = max(last, p.end)
		for open.Len() > 0 {
			if end, _ := open.Top(); end > p.start {
				break
			}
			open.Pop()
		}
		open.Push(p.end, 0)
		s.Concurrent = max(s.Concurrent, open.Len())
	}
	if len(spans) > 1 {
		s.Overlap = float64(overlaps) / float64(len(spans)-1)
	}
	s.DurationMS = float64(last-spans[0].start) / 1e6
	return s
}

func (s *historyStats) text(w io.Writer) error {
	var rows [][]string
	add := func(name, format string, args ...any) {
		rows = append(rows, []string{name, fmt.Sprintf(format, args...)})
	}
	for _, p := range [][2]string{{"name", s.Name}, {"database", s.DB}, {"isolation asked for", s.Isolation},
		{"workload", s.Workload}, {"note", s.Note}} {
		if p[1] != "" {
			add(p[0], "%s", p[1])
		}
	}
	// list writes the parts that are not zero; "(s)" is the plural's.
	list := func(parts ...any) string {
		var out []string
		for i := 0; i < len(parts); i += 2 {
			plural := "s"
			n := parts[i].(int)
			if n == 1 {
				plural = ""
			}
			if n > 0 {
				out = append(out, fmt.Sprintf("%d %s", n, strings.ReplaceAll(parts[i+1].(string), "(s)", plural)))
			}
		}
		return strings.Join(out, ", ")
	}
	initial := 0
	if s.Initial > 0 {
		initial = 1
	}
	add("transactions", "%d: %s", s.Txns, list(s.Committed, "committed", s.Aborted, "aborted", s.Unknown,
		"of unknown outcome", initial, "initial"))
	if s.Invented > 0 {
		add("", "and %s of whom the file has no record, of unknown outcome", list(s.Invented, "writer(s)"))
	}
	add("", "%s", list(s.ReadOnly, "read-only", s.WriteOnly, "write-only", s.ReadWrite, "reading and writing"))
	add("sessions", "%d", s.Sessions)
	add("operations", "%d: %s", s.Ops, list(s.Reads, "read(s)", s.Writes, "write(s)", s.Appends, "append(s)",
		s.ListReads, "list read(s)", s.PredReads, "predicate read(s)", s.PredWrites, "predicate write(s)"))
	add("", "%s", list(s.NullReads, "read(s) of null", s.Deletes, "delete(s)", s.Initial, "initial write(s)", s.MaxOps,
		"operation(s) at most in a transaction"))
	add("keys", "%d, with %d versions", s.Keys, s.Versions)
	if s.UniqueValues {
		add("values", "unique: none was written to its key twice")
	} else {
		add("values", "not unique: %s to its key more than once", list(s.Duplicates, "value(s) written"))
	}
	t := &s.Times
	if l := list(t.Start, "start", t.Commit, "commit", t.End, "end", t.StartTS, "start_ts", t.CommitTS, "commit_ts",
		t.Ops, "operation(s)"); l != "" {
		add("times", "%s", l)
	} else {
		add("times", "none")
	}
	if t.Concurrent > 0 {
		add("overlap", "%.0f %% of transactions begin before their predecessor has ended; %d open at once at most; "+
			"%.3f s in all", 100*t.Overlap, t.Concurrent, t.DurationMS/1e3)
	}
	kept := rows[:0]
	for _, r := range rows {
		if r[0] != "" || r[1] != "" {
			kept = append(kept, r)
		}
	}
	fmt.Fprintln(w, s.History)
	for _, r := range kept {
		if _, err := fmt.Fprintf(w, "  %-20s %s\n", r[0], r[1]); err != nil {
			return err
		}
	}
	return nil
}
