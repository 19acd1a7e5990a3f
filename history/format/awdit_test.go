package format_test

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"isovet/history"
	"isovet/history/format/awdit"
	"isovet/internal/test/histtest"
	"isovet/internal/test/histtest/diff"
	"isovet/internal/test/must"
)

// naive reads a file by words; ok says that it is one.
func naive(data string) (h *history.History, ok bool) {
	b := history.NewBuilder()
	session, first := int64(0), uint32(0)
	for i, line := range strings.Split(data+"\n=", "\n") {
		f := strings.Fields(line)
		switch {
		case len(f) == 0:
		case len(f) == 1 && (strings.Trim(f[0], "-") == "" || strings.Trim(f[0], "=") == ""):
			if first > 0 {
				h := history.NewTxnHead()
				h.Line, h.HasSess, h.Session = first, true, session
				b.EndTxn(h)
			}
			if first = 0; f[0][0] == '=' {
				session++
			}
		case len(f) != 3 || f[0] != "r" && f[0] != "w":
			return nil, false
		default:
			var n [2]int64
			for i, word := range f[1:] {
				x, ok := new(big.Int).SetString(word, 10)
				if !ok || !x.IsInt64() && !x.IsUint64() {
					return nil, false
				}
				n[i] = int64(x.And(x, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
			}
			if first == 0 {
				first = uint32(i) + 1
			}
			if k := b.Key(history.IntValue(n[0])); f[0] == "w" {
				b.Write(k, history.IntValue(n[1]))
			} else {
				b.Read(k, history.IntValue(n[1]))
			}
		}
	}
	h, err := b.Build()
	return h, err == nil
}

// TestAwditNaive: the reader agrees with one by words.
func TestAwditNaive(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 9))
	good, n := 0, histtest.Long(20_000, 1_000_000)
	for range n {
		var data []byte
		for range rnd.IntN(6) {
			switch rnd.IntN(12) {
			case 0:
				data = append(data, "---\n"...)
			case 1:
				data = append(data, "==\n"...)
			case 2:
				data = append(data, [...]string{"\n", "r 1\n", "w  1 2\n", "x 1 2\n", "r -1 +2\n", "w 1 2 3\n",
					" r 1 2\n", "r 1 18446744073709551616\n", "w 9223372036854775808 18446744073709551615\n",
					"w 9223372036854775807 1\n", "r 1 2\r\n", "w 1 x\n"}[rnd.IntN(12)]...)
			default:
				data = fmt.Appendf(data, "%c %d %d\n", "rw"[rnd.IntN(2)], rnd.IntN(3), rnd.Int64N(1<<rnd.IntN(62)))
			}
		}
		h, err := awdit.Read(data, "f")
		want, ok := naive(string(data))
		must.Same(t, err == nil, ok, "%q: %v; expected that it is read", data, err)
		if err != nil {
			continue
		}
		good++
		diff.Same(t, want, h, "%q", data)
	}
	must.Be(t, good >= n/4 && good != n, "%d of %d texts were histories", good, n)
}
