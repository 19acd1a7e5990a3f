package spill

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"isovet/check/spill/plan"
	"isovet/evidence"
)

// ErrNoCertificate says that the answer has no certificate: its verdict is unknown, or its proof leaves out reads of
// versions with very many writers.
var ErrNoCertificate = errors.New("this verdict has no certificate")

// WriteCertificate writes the certificate that isovet verify replays: package certify/large has the format.
func (a *Answer) WriteCertificate(w io.Writer, name string) error {
	type about struct {
		Name string `json:"name,omitempty"`
		Txns int64  `json:"txns"`
		Ops  int64  `json:"ops"`
	}
	head := struct {
		Format     string           `json:"format"`
		Version    int              `json:"version"`
		Level      string           `json:"level"`
		Verdict    evidence.Verdict `json:"verdict"`
		Checker    string           `json:"checker,omitempty"`
		History    about            `json:"history"`
		Rule       string           `json:"rule,omitempty"`
		Exceptions int              `json:"exceptions,omitempty"`
		Anomalies  int              `json:"anomalies,omitempty"`
		Also       int              `json:"also,omitempty"`
		With       []int64          `json:"with,omitempty"`
		ReadsAt    string           `json:"read_only_at,omitempty"`
		ImpliedBy  string           `json:"implied_by,omitempty"`
	}{Format: "isovet-certificate", Version: 2, Level: evidence.Label(a.Level, a.Stamps.On), Verdict: a.Verdict,
		Checker: a.Checker, History: about{name, a.Stats.Txns, a.Stats.Ops}}
	if a.Stamps.ReadOnlyAtStart {
		head.ReadsAt = "start"
	}
	out := bufio.NewWriterSize(w, 1<<16)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	switch {
	case a.Bare:
		return ErrNoCertificate
	case a.Verdict == evidence.Holds:
		if a.By != a.Level {
			head.ImpliedBy = a.By.String()
		}
		head.Rule, head.Exceptions = "end", len(a.Moves)
		switch {
		case a.ByPlace:
			head.Rule = "place"
		case a.Stamps.On:
			head.Rule = "timestamps"
		}
		if err := enc.Encode(head); err != nil {
			return err
		}
		for _, place := range slices.Sorted(maps.Keys(a.Moves)) {
			m, x := a.Moves[place], a.Moved[place]
			if _, err := fmt.Fprintf(out, `{"txn":%d,"place":%d,"begin":%s,"commit":%s,"start":%d,"end":%d}`+"\n",
				x.ID, place, triple(m.Begin), triple(m.Commit), x.Start, x.End); err != nil {
				return err
			}
		}
	case a.Proof != nil && !a.Partial:
		var b bytes.Buffer
		if err := evidence.WriteCertificate(&b, a.Proof); err != nil {
			return err
		}
		head.Anomalies, head.Also, head.With = len(a.Proof.Anomalies), a.Proof.Also, a.With
		if err := enc.Encode(head); err != nil {
			return err
		}
		_, anomalies, _ := bytes.Cut(b.Bytes(), []byte("\n"))
		if _, err := out.Write(anomalies); err != nil {
			return err
		}
	default:
		return ErrNoCertificate
	}
	return out.Flush()
}

func triple(p plan.Pos) string { return fmt.Sprintf("[%d,%d,%d]", p.T, p.N, p.Sub) }
