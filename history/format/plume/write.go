package plume

import (
	"bufio"
	"errors"
	"io"
	"strconv"

	"isovet/history"
	"isovet/history/format/integers"
)

// Write writes a history with integer keys and values, and keys that are 0 at first. n numbers other keys and values;
// it was made only if the history can be written. An initial transaction becomes session 0, transaction 0, and also
// writes 0 to the other keys. Other sessions and transactions are counted from 1. Aborted transactions are written
// only with aborted set (Plume's and C4's files have them, PolySI's do not), and without their reads.
func Write(w io.Writer, h *history.History, n *integers.Numbers, aborted bool) error {
	bw := bufio.NewWriterSize(w, 1<<16)
	var buf []byte
	empty := true
	put := func(letter byte, key, value, session, txn int64) error {
		buf = append(buf[:0], letter, '(')
		for i, x := range [...]int64{key, value, session, txn} {
			if i > 0 {
				buf = append(buf, ',')
			}
			buf = strconv.AppendInt(buf, x, 10)
		}
		buf = append(buf, ")\n"...)
		empty = false
		_, err := bw.Write(buf)
		return err
	}
	for _, t := range n.Order {
		if h.Txns.Status[t] == history.Aborted && !aborted {
			continue
		}
		session, id := n.Session(t)+1, int64(t)+1
		if t == h.Init {
			session, id = 0, 0
		}
		lo, hi := h.TxnOps(t)
		for op := lo; op < hi; op++ {
			if n.Skip(op) {
				continue
			}
			letter := byte('r')
			if h.Ops.Kind[op] == history.Write {
				letter = 'w'
			}
			if h.Txns.Status[t] == history.Aborted {
				if letter == 'r' {
					continue
				}
				id = -1
			}
			v := h.Ops.Ver[op]
			if err := put(letter, n.Key(h.VerKey[v]), n.Value(op), session, id); err != nil {
				return err
			}
		}
		if t != h.Init {
			continue
		}
		written := make([]bool, h.NumKeys())
		for _, v := range h.Ops.Ver[lo:hi] {
			written[h.VerKey[v]] = true
		}
		for k, own := range written {
			if !own {
				if err := put('w', n.Key(uint32(k)), 0, session, id); err != nil {
					return err
				}
			}
		}
	}
	if empty {
		return errors.New("the format cannot hold a history without operations")
	}
	return bw.Flush()
}
