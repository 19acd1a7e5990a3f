package record

import (
	"strconv"

	"isovet/history"
	"isovet/internal/slice"
)

// Header appends the first line of a history of JSON lines. partial says that transactions have a line before their
// commit and another one with their outcome; package jsonl joins the two.
func Header(b []byte, m history.Meta, partial bool) []byte {
	b = append(b, `{"format":"isovet-history","version":1`...)
	if partial {
		b = append(b, `,"partial":true`...)
	}
	for _, x := range [...][2]string{{"name", m.Name}, {"db", m.DB}, {"isolation", m.Isolation},
		{"workload", m.Workload}, {"note", m.Note}} {
		if x[1] != "" {
			b = append(append(append(b, `,"`...), x[0]...), `":`...)
			b = history.AppendJSONString(b, x[1])
		}
	}
	if m.Lists {
		b = append(b, `,"model":"list"`...)
	}
	return append(b, "}\n"...)
}

// appendTime appends a field and a comma, if the time is known.
func appendTime(b []byte, name string, t int64) []byte {
	if t == history.NoTime {
		return b
	}
	b = append(append(append(b, '"'), name...), '"', ':')
	return append(strconv.AppendInt(b, t, 10), ',')
}

// appendOutcome appends the line with the outcome of a transaction that has a line already.
func appendOutcome(b []byte, id int64, how history.Status, end int64) []byte {
	b = strconv.AppendInt(append(b, `{"outcome":`...), id, 10)
	b = append(append(append(b, `,"status":"`...), how.String()...), '"')
	if end != history.NoTime {
		b = strconv.AppendInt(append(b, `,"end":`...), end, 10)
	}
	return append(b, "}\n"...)
}

// appendLine appends the rest of a transaction's line.
func (t *Txn) appendLine(b []byte, id int64) []byte {
	b = appendTime(b, "id", id)
	b = appendTime(b, "session", t.s.id)
	b = appendTime(b, "start", t.start)
	b = appendTime(b, "commit", t.commit)
	b = appendTime(b, "start_ts", t.startTS)
	b = appendTime(b, "commit_ts", t.commitTS)
	if t.s.node != "" {
		b = append(history.AppendJSONString(append(b, `"node":`...), t.s.node), ',')
	}
	if t.name != "" {
		b = append(history.AppendJSONString(append(b, `"name":`...), t.name), ',')
	}
	if t.level != "" {
		b = append(append(append(b, `"level":"`...), t.level...), `",`...)
	}
	b = appendOps(append(b, `"ops":[`...), t.ops)
	return append(b, "]}\n"...)
}

func appendOps(b []byte, ops []op) []byte {
	for i, o := range slice.Refs(ops) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '[', '"'), o.kind.String()...), '"', ',')
		switch o.kind {
		case history.PredRead, history.PredWrite:
			b = o.appendRows(append(append(b, o.more.pred...), ',', '['))
			b = append(b, ']')
		case history.ReadList:
			b = append(o.key.append(b), ',', '[')
			for j := range o.more.list {
				if j > 0 {
					b = append(b, ',')
				}
				b = o.more.list[j].append(b)
			}
			b = append(b, ']')
		default:
			b = o.val.append(append(o.key.append(b), ','))
		}
		if o.start != history.NoTime {
			b = strconv.AppendInt(append(b, ','), o.start, 10)
			b = strconv.AppendInt(append(b, ','), o.end, 10)
		}
		b = append(b, ']')
	}
	return b
}

// appendRows appends the rows that a predicate matched.
func (o *op) appendRows(b []byte) []byte {
	for j, r := range slice.Refs(o.more.rows) {
		if j > 0 {
			b = append(b, ',')
		}
		b = r.key.append(append(b, '['))
		if !r.oldUnknown {
			b = r.old.append(append(b, ','))
		}
		if o.kind == history.PredWrite {
			b = r.new.append(append(b, ','))
		}
		b = append(b, ']')
	}
	return b
}
