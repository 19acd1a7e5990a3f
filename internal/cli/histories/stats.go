// Package histories has the commands that read histories without judging them (stats, convert), and those that print
// lists.
package histories

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"isovet/history"
	"isovet/history/split"
	"isovet/internal/cli/console"
	"isovet/internal/escape"
	"isovet/internal/guard"
	"isovet/internal/heap"
	"isovet/internal/plural"
	"isovet/internal/slice"
	"isovet/internal/sorts"
)

// txnCounts are numbers of transactions and sessions.
type txnCounts struct {
	Txns int `json:"txns"`
	// Invented counts transactions of unknown outcome that were added as writers that the file lacks; Txns does not
	// include them.
	Invented  int `json:"invented_writers,omitempty"`
	Committed int `json:"committed"`
	Aborted   int `json:"aborted"`
	Unknown   int `json:"unknown"`
	ReadOnly  int `json:"read_only"`
	WriteOnly int `json:"write_only"`
	ReadWrite int `json:"read_write"`
	// Initial counts writes of the initial transaction. It is counted elsewhere only in Txns and Ops.
	Initial  int `json:"initial_writes"`
	Sessions int `json:"sessions"`
}

// opCounts are numbers of operations.
type opCounts struct {
	Ops        int `json:"ops"`                        // of the file
	Both       int `json:"compare_and_sets,omitempty"` // one of the file's, among the reads and the writes below
	Reads      int `json:"reads"`
	NullReads  int `json:"null_reads"`
	Writes     int `json:"writes"`
	Deletes    int `json:"deletes"`
	Appends    int `json:"appends"`
	ListReads  int `json:"list_reads"`
	PredReads  int `json:"predicate_reads"`
	PredWrites int `json:"predicate_writes"`
	// CommittedReads counts reads of all kinds by committed transactions. Without any, a check of the history is
	// inconclusive.
	CommittedReads int `json:"committed_reads"`
	MaxOps         int `json:"max_ops"` // of a transaction
}

// historyStats is the output of "isovet stats" for a history.
type historyStats struct {
	History   string `json:"history"`
	Name      string `json:"name,omitempty"`
	DB        string `json:"db,omitempty"`
	Isolation string `json:"isolation,omitempty"`
	Workload  string `json:"workload,omitempty"`
	Note      string `json:"note,omitempty"`

	txnCounts

	opCounts

	Keys     int `json:"keys"`
	Versions int `json:"versions"`
	// UniqueValues says that no value, initial values included, was written twice to a key. Deletes do not count.
	UniqueValues bool `json:"unique_values"`
	Duplicates   int  `json:"duplicate_values"` // versions written more than once
	// Estimated says that memory did not suffice for all keys and versions. Their numbers are then estimates within
	// one per cent, and it is unknown whether values are unique.
	Estimated bool `json:"estimated,omitempty"`

	Times timeStats `json:"times"`

	Notes []history.Note `json:"notes,omitempty"` // what the reader has to say of the file
}

// timeStats counts the transactions, or in ops the operations, that have a time.
type timeStats struct {
	Start    int `json:"start"`
	Commit   int `json:"commit"`
	End      int `json:"end"`
	StartTS  int `json:"start_ts"`
	CommitTS int `json:"commit_ts"`
	Ops      int `json:"ops"`

	DurationMS float64 `json:"duration_ms"`
	// Overlap is the share of transactions, sorted by start, that begin before their predecessor has ended. Concurrent
	// is the greatest number of transactions open at one moment. Both count transactions with start and end.
	Overlap    float64 `json:"overlap"`
	Concurrent int     `json:"max_concurrent"`
	// Unordered says that transactions in the file are too far from the order of their starts, so that both are
	// estimates.
	Unordered bool `json:"unordered,omitempty"`
}

func NewStats(e *console.Env) *cobra.Command {
	var asJSON bool
	var from console.Loading
	var memory int64
	c := console.Command("stats", console.Exactly("HISTORY…"), func(c *cobra.Command, args []string) error {
		worst := console.StatusOK
		for i, path := range from.Histories(args) {
			s, err := statsOf(c.Context(), e, path, from, memory)
			if err != nil {
				if c.Context().Err() != nil {
					return console.OrInterrupted(err, "loading "+path)
				}
				fmt.Fprintf(e.Stderr, "isovet: %v\n", err)
				worst = console.Worse(worst, console.StatusOf(err))
				continue
			}
			if asJSON {
				err = console.JSONLine(e.Stdout, s)
			} else {
				if i > 0 {
					fmt.Fprintln(e.Stdout)
				}
				err = s.text(e.Stdout)
			}
			if err != nil {
				return err
			}
		}
		return console.Status(worst)
	})
	c.ValidArgsFunction = console.HistoryFiles
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object for each history")
	c.Flags().Var(console.Size(&memory), "memory", "read batch by batch within this memory")
	from.Flags(c, "format", "the files")
	from.TogetherFlag(c)
	return c
}

// statsOf computes the statistics of a history, in memory or batch by batch.
func statsOf(ctx context.Context, e *console.Env, path string, from console.Loading, memory int64) (*historyStats,
	error) {
	paths := from.Paths(path)
	p := console.NewProgress(e.Stderr, false, true)
	defer p.Close()
	p.Begin("reading " + path)
	return guard.Run(ctx, guard.Limits{Memory: memory}, func() string { return "loading " + path },
		func(ctx context.Context) (
			*historyStats, error) {
			large := memory > 0 || split.InParts(paths) || console.SizeOf(paths) >= streamFrom
			if paths[0] != "-" && from.InPieces() == nil && large {
				s, err := streamStats(ctx, path, paths, from, memory, p)
				if _, order := errors.AsType[*split.OrderError](err); !order || memory > 0 {
					return s, err
				}
			}
			h, err := console.LoadHistory(ctx, path, from)
			if err != nil {
				return nil, err
			}
			e.SayNotes(path, h)
			return newHistoryStats(path, h), nil
		})
}

func newHistoryStats(path string, h *history.History) *historyStats {
	s := &historyStats{History: path, Name: h.Meta.Name, DB: h.Meta.DB, Isolation: h.Meta.Isolation,
		Workload: h.Meta.Workload, Note: h.Meta.Note, Notes: h.Notes,
		txnCounts: txnCounts{Txns: h.NumTxns() - h.Invented(), Invented: h.Invented(), Sessions: h.NumSessions()},
		Keys:      h.NumKeys(), Versions: h.NumVersions()}
	if h.Init != history.None {
		s.Sessions-- // the initial transaction belongs to no session
	}
	written := make([]uint8, h.NumVersions())
	note := func(v uint32) {
		if h.VerKind[v] != history.Null && written[v] < 2 {
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
	s.count(h, note)
	s.Unknown -= s.Invented
	s.Duplicates = slice.Count(written, func(n uint8) bool { return n > 1 })
	s.UniqueValues = s.Duplicates == 0
	s.Times = newTimeStats(h)
	return s
}

// count counts transactions and operations. It calls note with each written version.
func (s *historyStats) count(h *history.History, note func(v uint32)) {
	ops := h.FileOps(0, uint32(h.NumTxns()))
	s.Ops, s.Both = s.Ops+ops, s.Both+h.NumOps()-ops
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
		s.MaxOps = max(s.MaxOps, h.FileOps(t, t+1))
		switch h.Txns.Status[t] {
		case history.Committed:
			s.Committed++
			s.CommittedReads += reads
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
}

func newTimeStats(h *history.History) timeStats {
	var s timeStats
	s.have(h)
	var spans []span
	for t := range uint32(h.NumTxns()) {
		if a, z := h.Start(t), h.End(t); t != h.Init && a != history.NoTime && z != history.NoTime {
			spans = append(spans, span{a, z})
		}
	}
	sorts.Func(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	var o overlaps
	for _, p := range spans {
		o.add(p)
	}
	o.tell(&s)
	return s
}

// have counts, for each kind of time, the transactions or operations with that time.
func (s *timeStats) have(h *history.History) {
	count := func(n *int, col []int64) {
		for _, x := range col {
			if x != history.NoTime {
				*n++
			}
		}
	}
	x := &h.Txns
	count(&s.Start, x.Start)
	count(&s.Commit, x.Commit)
	count(&s.End, x.End)
	count(&s.StartTS, x.StartTS)
	count(&s.CommitTS, x.CommitTS)
	count(&s.Ops, h.Ops.Start)
}

// span is the client interval of a transaction.
type span struct{ start, end int64 }

// overlaps computes how transactions overlap. They must be added in the order of their starts.
type overlaps struct {
	n, overlap, most int
	first, last      int64
	before           span
	open             heap.Heap[int64, int32] // ends
}

func (o *overlaps) add(p span) {
	switch {
	case o.n == 0:
		o.first, o.last = p.start, p.end
	case p.start < o.before.end:
		o.overlap++
	}
	o.n++
	o.before = p
	o.last = max(o.last, p.end)
	for o.open.Len() > 0 {
		if end, _ := o.open.Top(); end > p.start {
			break
		}
		o.open.Pop()
	}
	o.open.Push(p.end, 0)
	o.most = max(o.most, o.open.Len())
}

func (o *overlaps) tell(s *timeStats) {
	if o.n == 0 {
		return
	}
	s.Concurrent = o.most
	if o.n > 1 {
		s.Overlap = float64(o.overlap) / float64(o.n-1)
	}
	s.DurationMS = float64(uint64(o.last-o.first)) / 1e6 // an int64 need not hold it
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
	initial := min(s.Initial, 1)
	add("transactions", "%d: %s", s.Txns, list(s.Committed, "committed", s.Aborted, "aborted", s.Unknown,
		"of unknown outcome", initial, "initial"))
	switch {
	case s.Committed == 0:
		add("", "nothing was committed, so a check is inconclusive")
	case s.CommittedReads == 0:
		add("", "no committed transaction read anything, so nothing can contradict a level")
	}
	if s.Invented > 0 {
		add("", "and %s without a record in the file, of unknown outcome", list(s.Invented, "writer(s)"))
	}
	add("", "%s", list(s.ReadOnly, "read-only", s.WriteOnly, "write-only", s.ReadWrite, "reading and writing"))
	add("sessions", "%d", s.Sessions)
	add("operations", "%d: %s", s.Ops, list(s.Reads, "read(s)", s.Writes, "write(s)", s.Appends, "append(s)",
		s.ListReads, "list read(s)", s.PredReads, "predicate read(s)", s.PredWrites, "predicate write(s)",
		s.Both, "compare-and-set(s) counted as both"))
	add("", "%s", list(s.NullReads, "read(s) of null", s.Deletes, "delete(s)", s.Initial, "initial write(s)", s.MaxOps,
		"operation(s) at most in a transaction"))
	if s.Estimated {
		add("keys", "about %d, with about %s", s.Keys, plural.Of(s.Versions, "version"))
		add("values", "not known whether unique: give more --memory")
	} else {
		add("keys", "%d, with %s", s.Keys, plural.Of(s.Versions, "version"))
	}
	switch {
	case s.Estimated:
	case s.UniqueValues:
		add("values", "unique: none was written to its key twice")
	default:
		add("values", "not unique: %s to its key more than once", list(s.Duplicates, "value(s) written"))
	}
	t := &s.Times
	if l := list(t.Start, "start", t.Commit, "commit", t.End, "end", t.StartTS, "start_ts", t.CommitTS, "commit_ts",
		t.Ops, "operation(s)"); l != "" {
		add("times", "%s", l)
	} else {
		add("times", "none")
	}
	about := ""
	if t.Unordered {
		about = "about "
	}
	if t.Concurrent > 0 {
		add("overlap", about+"%.0f %% of transactions begin before their predecessor has ended; %d open at once at "+
			"most; %.3f s in all", 100*t.Overlap, t.Concurrent, t.DurationMS/1e3)
	}
	return writeRows(w, s.History, rows)
}

// writeRows writes the non-empty rows below the history's name.
func writeRows(w io.Writer, history string, rows [][]string) error {
	fmt.Fprintln(w, escape.Line(history))
	for _, r := range rows {
		if r[0] == "" && r[1] == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "  %-20s %s\n", r[0], escape.Line(r[1])); err != nil {
			return err
		}
	}
	return nil
}

// list writes the parts that are not zero, each a number and a noun. "(s)" marks the plural.
func list(parts ...any) string {
	var out []string
	for i := 0; i < len(parts); i += 2 {
		n, what := parts[i].(int), parts[i+1].(string)
		if noun, rest, is := strings.Cut(what, "(s)"); is {
			what = strings.TrimPrefix(plural.Of(n, noun), strconv.Itoa(n)+" ") + rest
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, what))
		}
	}
	return strings.Join(out, ", ")
}
