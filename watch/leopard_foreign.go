package watch

import (
	"encoding/json"
	"fmt"
	"strconv"

	"isovet/history"
	"isovet/history/format/jsonl"
)

// foreign handles a line that is not judged. It adds the operations that it understands, since others may read the
// writes.
func (j *leopard) foreign(b *Batch, i int) {
	var t struct {
		Ops []json.RawMessage `json:"ops"`
	}
	if json.Unmarshal(b.Text(i), &t) != nil {
		return
	}
	var lines [][]byte
	for _, op := range t.Ops {
		lines = append(lines, append(append([]byte(`{"start":0,"status":"unknown","ops":[`), op...), "]}"...))
	}
	ops := NewBatch(1, lines)
	j.stream.Piece(ops.H)
	for t := range ops.Heads {
		j.wrote.add(ops.H, uint32(t), b.Lines[i].N)
		var err error
		if j.buf, err = j.stream.Txn(j.buf[:0], uint32(t), uint64(b.Lines[i].N)); err == nil && len(j.buf) > 2 {
			j.online.Foreign(j.buf)
		}
	}
	j.collect()
	j.stream.Piece(b.H)
}

// understood returns a line with only its id and the writes that the reader understands.
func understood(line []byte) []byte {
	var t struct {
		ID  json.RawMessage   `json:"id"`
		Ops []json.RawMessage `json:"ops"`
	}
	out := []byte(`{"start":0,"status":"unknown","ops":[`)
	if json.Unmarshal(line, &t) == nil {
		if id, err := strconv.ParseInt(string(t.ID), 10, 64); err == nil {
			out = fmt.Appendf(nil, `{"id":%d,"start":0,"status":"unknown","ops":[`, id)
		}
		n := 0
		for _, op := range t.Ops {
			one := append(append([]byte(`{"ops":[`), op...), "]}"...)
			if h, err := jsonl.ReadPiece(one); err != nil || len(h.Ops.Kind) != 1 || h.Ops.Kind[0] != history.Write {
				continue
			}
			if n++; n > 1 {
				out = append(out, ',')
			}
			out = append(out, op...)
		}
	}
	return append(out, "]}"...)
}
