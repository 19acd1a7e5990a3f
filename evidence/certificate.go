package evidence

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"isovet/history"
	"isovet/internal/slice"
	"isovet/level"
)

// A certificate is a Result in a file, so that anyone can verify it against the history in any of its encodings. It is
// JSON lines; transactions are named by their ids in the history's file, keys and values by themselves:
//
//	{"format":"isovet-certificate","version":1,"level":"serializable","verdict":"valid","checker":"vbox",
//	 "history":{"name":"a.jsonl","txns":3,"ops":12,"sha256":"…"},"order":3}
//	[3,1,2]
//
// The certificate of a valid history continues with its commit order in arrays of any length; "order" is the number of
// ids in all. At the snapshot levels, and with mixed levels, each id occurs twice, where the transaction begins and
// where it commits. At the weak levels and at mixed ones it ends with arrays [reader, place of the read in it,
// writer] for reads that several writers can explain; "sources" is their number, and the writer is null for the initial
// version. For a predicate operation, which reads many keys, the key is fourth. The certificate of a violation
// continues with one line for each of its "anomalies":
//
//	{"kind":"G1c","txns":[1,2],"cycle":[{"from":1,"to":2,"dep":"wr","key":"x","value":5},…],
//	 "cycles":[[…],…],"text":"…"}
//	{"kind":"G1a","txns":[2,1],"ops":[[2,0],[1,1]],"text":"…"}
//	{"kind":"G1a","txns":[3,1,2],"ops":[[3,0]],"dead":[[[1,0],[1,1]],[[2,0]]],"text":"…"}
//
// An operation is its transaction's id and its place in it, from 0. An rw edge names as "writer" the transaction that
// installed the version read, unless that is the initial one; so does a prw edge for the version that the predicate
// operation was based on. pwr and prw edges have as "op" the operation's place in the transaction "to" or "from". An
// anomaly of a predicate operation, or of two transactions that conflict, has as "key" the key that it is about; "why"
// is given for an EXT violation. The level of a verdict about database timestamps has "ts:" before it;
// "read_only_at":"start" says that transactions without writes are ordered by their start. "sha256" is [ContentHash].
const (
	certificateFormat  = "isovet-certificate"
	certificateVersion = 1
	idsPerLine         = 4096
	atStart            = "start"
)

type certificateHeader struct {
	Format    string             `json:"format"`
	Version   int                `json:"version"`
	Level     string             `json:"level"`
	ReadsAt   string             `json:"read_only_at,omitempty"`
	Verdict   Verdict            `json:"verdict"`
	Reason    string             `json:"reason,omitempty"`
	Checker   string             `json:"checker,omitempty"`
	Solver    string             `json:"solver,omitempty"`
	History   certificateHistory `json:"history"`
	Order     int                `json:"order,omitempty"`
	Sources   int                `json:"sources,omitempty"`
	Anomalies int                `json:"anomalies,omitempty"`
	Also      int                `json:"also,omitempty"`
}

type certificateHistory struct {
	Name   string `json:"name,omitempty"`
	Txns   int    `json:"txns"`
	Ops    int    `json:"ops"`
	SHA256 string `json:"sha256"`
}

type certificateAnomaly struct {
	Kind   level.Anomaly       `json:"kind"`
	Txns   []int64             `json:"txns"`
	Ops    [][2]int64          `json:"ops,omitempty"`
	Why    string              `json:"why,omitempty"`
	Key    json.RawMessage     `json:"key,omitempty"`
	Dead   [][][2]int64        `json:"dead,omitempty"`
	Cycle  []certificateEdge   `json:"cycle,omitempty"`
	Cycles [][]certificateEdge `json:"cycles,omitempty"`
	Text   string              `json:"text,omitempty"`
}

type certificateEdge struct {
	From   int64           `json:"from"`
	To     int64           `json:"to"`
	Dep    Dep             `json:"dep"`
	Key    json.RawMessage `json:"key,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
	Writer *int64          `json:"writer,omitempty"`
	Op     *int64          `json:"op,omitempty"`
}

// WriteCertificate writes the certificate of a result. The caller should write it under another name and rename the
// complete file. Cost: the hash of the history, and about 10 ns per id of the order.
func WriteCertificate(w io.Writer, r *Result) error {
	h := r.H
	if h == nil {
		return errors.New("a result without its history has no certificate")
	}
	out := bufio.NewWriterSize(w, 1<<14)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	head := certificateHeader{Format: certificateFormat, Version: certificateVersion, Level: r.Label(),
		Verdict: r.Verdict, Reason: r.Reason, Checker: r.Checker, Solver: r.Solver, Also: r.Also,
		History: certificateHistory{Name: h.Meta.Name, Txns: h.NumTxns(), Ops: h.NumOps(), SHA256: ContentHash(h)}}
	head.History.Name = cmp.Or(head.History.Name, h.File)
	if r.Verdict == Holds {
		head.Order, head.Sources = len(r.Order), len(r.Sources)
	}
	if r.ReadOnlyAtStart {
		head.ReadsAt = atStart
	}
	head.Anomalies = len(r.Anomalies)
	if err := enc.Encode(head); err != nil {
		return err
	}
	if r.Verdict == Holds {
		shift := 0
		if r.Level.Snapshot() || r.Level.IsMixed() {
			shift = 1
		}
		line := make([]byte, 0, 8*idsPerLine)
		for lo := 0; lo < len(r.Order); lo += idsPerLine {
			line = append(line[:0], '[')
			for i, e := range r.Order[lo:min(lo+idsPerLine, len(r.Order))] {
				if i > 0 {
					line = append(line, ',')
				}
				line = strconv.AppendInt(line, h.Txns.ID[e>>shift], 10)
			}
			if _, err := out.Write(append(line, "]\n"...)); err != nil {
				return err
			}
		}
	}
	for lo := 0; lo < len(r.Sources) && r.Verdict == Holds; lo += idsPerLine {
		line := slice.Map(r.Sources[lo:min(lo+idsPerLine, len(r.Sources))], func(s Source) []any {
			t := h.TxnOf(s.Op)
			j := []any{h.Txns.ID[t], int64(s.Op - h.Txns.OpOff[t]), nil}
			if s.Writer != history.None {
				j[2] = h.Txns.ID[s.Writer]
			}
			if h.Ops.Kind[s.Op].Predicate() {
				j = append(j, json.RawMessage(h.Texts.AppendValue(nil, h.Keys[s.Key])))
			}
			return j
		})
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	for _, a := range slice.Refs(r.Anomalies) {
		ops := func(ops []uint32) [][2]int64 {
			return slice.Map(ops, func(op uint32) [2]int64 {
				t := h.TxnOf(op)
				return [2]int64{h.Txns.ID[t], int64(op - h.Txns.OpOff[t])}
			})
		}
		cycle := func(c []Edge) []certificateEdge { return certificateEdges(h, c) }
		j := certificateAnomaly{Kind: a.Kind, Ops: ops(a.Ops), Why: a.Why, Dead: slice.Map(a.Dead, ops), Text: a.Text,
			Txns: append([]int64{}, slice.Pick(h.Txns.ID, a.Txns)...), Cycle: cycle(a.Cycle),
			Cycles: slice.Map(a.Cycles, cycle)}
		if a.hasKey(h) {
			j.Key = h.Texts.AppendValue(nil, h.Keys[a.Key])
		}
		if err := enc.Encode(j); err != nil {
			return err
		}
	}
	return out.Flush()
}

func certificateEdges(h *history.History, c []Edge) []certificateEdge {
	return slice.Map(c, func(e Edge) certificateEdge {
		j := certificateEdge{From: h.Txns.ID[e.From], To: h.Txns.ID[e.To], Dep: e.Dep}
		if e.Key != history.None {
			j.Key = h.Texts.AppendValue(nil, h.Keys[e.Key])
		}
		if e.Ver != history.None {
			j.Value = h.Texts.AppendValue(nil, h.VerValue(e.Ver))
		}
		if e.Writer != history.None {
			j.Writer = &h.Txns.ID[e.Writer]
		}
		if e.Predicate() {
			j.Op = new(int64(e.Op - h.Txns.OpOff[e.predicateTxn()]))
		}
		return j
	})
}
