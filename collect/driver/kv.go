package driver

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// The texts in key-value stores: a row is "version payload" or "version payload 1,2,3"; a tombstone is "version"; a
// list is "1,2,3".

func RowText(r Row) []byte {
	b := strconv.AppendInt(nil, r.Version, 10)
	if !r.Dead {
		b = strconv.AppendInt(append(b, ' '), r.Payload, 10)
		if r.Wide != nil {
			b = AppendList(append(b, ' '), r.Wide)
		}
	}
	return b
}

func parseRow(s string) (Row, error) {
	u, p, ok := strings.Cut(s, " ")
	p, w, wide := strings.Cut(p, " ")
	var r Row
	var err error
	if r.Version, err = strconv.ParseInt(u, 10, 64); err == nil && ok {
		r.Payload, err = strconv.ParseInt(p, 10, 64)
	}
	if err == nil && wide {
		r.Wide, err = ParseList([]int64{}, w)
	}
	if err != nil {
		return r, fmt.Errorf("a row holds %q; expected a version and a payload", s)
	}
	r.Dead = !ok
	return r, nil
}

// ParseList reads a list's text.
func ParseList(dst []int64, s string) ([]int64, error) {
	for len(s) > 0 {
		e, rest, _ := strings.Cut(s, ",")
		n, err := strconv.ParseInt(e, 10, 64)
		if err != nil {
			return dst, fmt.Errorf("a list holds %q; expected integers with commas between them", e)
		}
		dst, s = append(dst, n), rest
	}
	return dst, nil
}

// AppendList writes a list's text.
func AppendList(b []byte, list []int64) []byte {
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return b
}

// appended returns a list's text with one more element.
func appended(list string, element int64) []byte {
	b := []byte(list)
	if len(b) > 0 {
		b = append(b, ',')
	}
	return strconv.AppendInt(b, element, 10)
}

// Texts is a session of a key-value store that reads and writes texts. KVOps stores rows and lists in them.
type Texts interface {
	GetText(key []byte) (string, bool, error)
	PutText(key, value []byte) error
}

const (
	RowPrefix  = "isovet/r"
	listPrefix = "isovet/l"
	KeyPrefix  = "isovet/"
)

// KVKey returns a row's key: a prefix and the number, written so that keys sort by number.
func KVKey(prefix string, k int64) []byte {
	return binary.BigEndian.AppendUint64([]byte(prefix), uint64(k)^1<<63)
}

// KVOps are the operations of a Session on top of Texts.
type KVOps struct{ Texts }

func (o KVOps) Get(k int64, _ bool) (Row, bool, error) {
	s, ok, err := o.GetText(KVKey(RowPrefix, k))
	if err != nil || !ok {
		return Row{}, false, err
	}
	r, err := parseRow(s)
	return r, true, err
}

func (o KVOps) Put(k int64, r Row) error { return o.PutText(KVKey(RowPrefix, k), RowText(r)) }

func (o KVOps) Append(k, element int64) error {
	key := KVKey(listPrefix, k)
	s, _, err := o.GetText(key)
	if err != nil {
		return err
	}
	return o.PutText(key, appended(s, element))
}

func (o KVOps) List(dst []int64, k int64) ([]int64, bool, error) {
	s, ok, err := o.GetText(KVKey(listPrefix, k))
	if err != nil || !ok {
		return dst, false, err
	}
	dst, err = ParseList(dst, s)
	return dst, true, err
}
