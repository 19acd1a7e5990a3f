package format

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"

	"isovet/history"
	"isovet/history/format/jsonl"
	"isovet/history/format/logline"
	"isovet/internal/plural"
	"isovet/internal/sorts"
)

// watchLog is the log folder of isovet watch, read to check or shrink a watched stream again.
var watchLog = Format{
	Name: "isovet-watch", About: "the folder of isovet watch: the transactions in its log, in the order of arrival",
	Tool: "isovet", Holds: Times | OpTimes | Timestamps | Aborted | Unknown | Lists | Predicates | Rows | Initial,
	Dir:    true,
	Detect: folder(func(dir string) bool { first, _, err := logSegments(dir); return err == nil && first > 0 }),
	Read: func(ctx context.Context, in *Input, o Options) (*history.History, error) {
		if !in.Dir {
			return nil, &history.InputError{File: in.Name, Off: -1, Msg: "is a file; expected the folder that isovet " +
				"watch keeps"}
		}
		data, cut, err := readLog(ctx, in.Path)
		if err != nil {
			return nil, err
		}
		if !cut {
			h, err := jsonl.ReadParallel(ctx, data, in.Name, o.Workers)
			bad, is := errors.AsType[*history.InputError](err)
			if !is || !slices.Contains([]string{"id", "seq", "init"}, bad.Field) { // of duplicate lines
				return h, err
			}
		}
		h, err := readStream(ctx, data, in.Name)
		if err != nil || !cut {
			return h, err
		}
		return withoutBeginning(h), nil
	},
}

// readStream reads the lines of a stream. Lines may be duplicates; sessions may begin in the middle and have gaps.
func readStream(ctx context.Context, data []byte, file string) (*history.History, error) {
	at := jsonl.Lines{File: file, Head: true}
	head, is, err := jsonl.ReadHeader(data, file)
	if err != nil {
		return nil, err
	}
	if is {
		at.Meta, at.Initial = head.Meta, head.Initial
		if k := head.Initial.Kind; k == history.String || k == history.Row {
			at.InitialText = head.Texts.Text(uint32(head.Initial.N))
		}
	}
	again := passAgain(data, file)
	h, seqs, err := jsonl.ReadLines(ctx, data, at)
	if err != nil {
		return nil, err
	}
	// Places may begin with any number and have gaps. If one is missing, the session keeps the order of arrival.
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		if seqs != nil && !slices.ContainsFunc(in, func(t uint32) bool { return seqs[t] == history.NoTime }) {
			sorts.Stable(in, func(a, b uint32) int { return cmp.Compare(seqs[a], seqs[b]) })
		}
	}
	if again > 0 {
		h.AddNote(history.NoteSkipped, again, "%s", plural.Phrase(again, "line repeats a transaction of an earlier "+
			"line and was ignored", "lines repeat a transaction of an earlier line and were ignored"))
	}
	return h, nil
}

// logSegments returns the numbers of the first and the last segment of a watch's folder; 0 if it has none.
func logSegments(dir string) (first, last int, err error) {
	list, err := os.ReadDir(dir)
	if err != nil {
		return 0, 0, err
	}
	for _, e := range list {
		name, ok := strings.CutPrefix(e.Name(), "segment-")
		name, is := strings.CutSuffix(strings.TrimSuffix(name, ".zst"), ".log")
		n, err := strconv.Atoi(name)
		if !ok || !is || err != nil || n < 1 || !e.Type().IsRegular() {
			continue
		}
		if first == 0 || n < first {
			first = n
		}
		last = max(last, n)
	}
	return first, last, nil
}

// readSegment reads a segment, which may be compressed.
func readSegment(dir string, n int) (path string, data []byte, err error) {
	path = filepath.Join(dir, fmt.Sprintf("segment-%08d.log", n))
	if data, err = os.ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
		return path, data, err
	}
	path += ".zst"
	f, err := os.Open(path)
	if err != nil {
		return path, nil, err
	}
	defer f.Close()
	z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(maxSpan), zstd.WithDecoderLowmem(true))
	if err != nil {
		return path, nil, err
	}
	defer z.Close()
	data, err = io.ReadAll(z)
	return path, data, err
}

// readLog reads the lines of all segments, without their places. It blanks the log's own lines and repeated headers,
// so that line numbers count over all segments. The incomplete end of an unfinished write is no line. cut says that
// the first segments were deleted; the header then comes from its own file.
func readLog(ctx context.Context, dir string) (all []byte, cut bool, err error) {
	first, last, err := logSegments(dir)
	if err == nil && first > 1 {
		cut = true
		if all, err = os.ReadFile(filepath.Join(dir, "beginning.jsonl")); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return nil, cut, &history.InputError{File: dir, Off: -1, Msg: "cannot read: " + history.Reason(err)}
	}
	var header []byte
	if line, _, _ := bytes.Cut(all, []byte("\n")); jsonl.IsHeader(line) {
		header = bytes.Clone(bytes.TrimSpace(line))
	}
	begins := !cut
	for n := max(first, 1); n <= max(last, 1); n++ {
		path, data, err := readSegment(dir, n)
		if err != nil {
			return nil, cut, &history.InputError{File: path, Off: -1, Msg: "cannot read: " + history.Reason(err)}
		}
		if err := ctx.Err(); err != nil {
			return nil, cut, err
		}
		if all == nil {
			all = data[:0] // reuses the memory, since a line only gets shorter
		}
		var record logline.Reader
		for number := 1; ; number++ {
			end := bytes.IndexByte(data, '\n')
			if end < 0 {
				break
			}
			_, _, text, err := record.Cut(data[:end])
			data = data[end+1:]
			if err != nil {
				if n == last && record.Torn(data) {
					break
				}
				return nil, cut, &history.InputError{File: path, Line: number, Off: -1, Msg: err.Error()}
			}
			text = bytes.TrimSpace(text)
			switch {
			case bytes.HasPrefix(text, []byte("!")), header != nil && bytes.Equal(text, header):
			case begins && len(text) > 0:
				begins = false
				if line := bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")); jsonl.IsHeader(line) {
					header = bytes.Clone(line)
				}
				fallthrough
			default:
				all = append(all, text...)
			}
			all = append(all, '\n')
		}
	}
	return all, cut, nil
}

// withoutBeginning drops reads that may depend on transactions missing at the beginning of a history: reads of
// versions that no remaining transaction wrote, and all reads of predicates and lists. With timestamps it also drops
// reads of a key before the first remaining commit that wrote it. Dropping reads makes no violation.
func withoutBeginning(h *history.History) *history.History {
	written := make([]bool, h.NumVersions())
	since := map[uint32]int64{} // key → the first remaining commit
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			if h.Ops.Kind[op] != history.Write {
				continue
			}
			v := h.Ops.Ver[op]
			written[v] = true
			if at := h.CommitTS(t); at != history.NoTime {
				if was, ok := since[h.VerKey[v]]; !ok || at < was {
					since[h.VerKey[v]] = at
				}
			}
		}
	}
	keep := make([]uint32, h.NumTxns())
	for s := range h.NumSessions() {
		in := h.SessTxn[h.SessOff[s]:h.SessOff[s+1]]
		places := slices.Sorted(slices.Values(in))
		for i, at := range places {
			keep[at] = in[i]
		}
	}
	drop := make([]bool, h.NumOps())
	dropped := 0
	for t := range uint32(h.NumTxns()) {
		for op := range h.EachOp(t) {
			switch v := h.Ops.Ver[op]; h.Ops.Kind[op] {
			case history.Read:
				first, some := since[h.VerKey[v]]
				drop[op] = !written[v] || h.StartTS(t) != history.NoTime && (!some || first >= h.StartTS(t))
			case history.Write:
			default:
				drop[op] = true
			}
			if drop[op] {
				dropped++
			}
		}
	}
	part := history.Restrict(h, keep, func(op uint32) bool { return !drop[op] }).H
	part.Meta = h.Meta
	part.AddNote(history.NoteSkipped, dropped, "watch --keep has deleted the beginning of the log: %s on it and was "+
		"left out, as were operations on predicates and lists, and the times of operations",
		plural.Phrase(dropped, "operation may depend", "operations may depend"))
	return part
}

// passAgain blanks duplicate lines and returns their number. A duplicate is about a transaction with the same id, or
// the same place in a session, as an earlier line. watch ignores them too.
func passAgain(data []byte, file string) (passed int) {
	type place struct{ session, seq int64 }
	ids, places := map[int64][]byte{}, map[place][]byte{}
	rest, number := data, int64(0)
	_, _, _ = jsonl.Heads(data, file, 0, true, func(head *jsonl.Head) error { // ReadLines will return the errors
		var line []byte
		for ; number < head.Line; number++ {
			line, rest, _ = bytes.Cut(rest, []byte("\n"))
		}
		var first []byte
		switch at := (place{head.Session, head.Seq}); {
		case head.HasID:
			if first = ids[head.ID]; first == nil {
				ids[head.ID] = line
			}
		case head.HasSess && head.HasSeq:
			if first = places[at]; first == nil {
				places[at] = line
			}
		}
		if first != nil && sameJSON(first, line) {
			copy(line, bytes.Repeat([]byte(" "), len(line)))
			passed++
		}
		return nil
	})
	return passed
}

// sameJSON reports whether two lines are equal as JSON.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	var values [2]any
	for i, line := range [][]byte{a, b} {
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if d.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}
