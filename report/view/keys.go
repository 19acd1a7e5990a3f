package view

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"isovet/history"
	"isovet/internal/escape"
	"isovet/internal/slice"
	"isovet/report"
)

// keys lists the transactions that touched each key, in the order of the file: for key k, txns[off[k]:off[k+1]].
type keys struct {
	h    *history.History
	off  []uint32
	txns []uint32
	// wrote[i] says whether txns[i] wrote the key.
	wrote []bool
	stat  []keyStat

	mu     sync.Mutex
	orders map[string][]uint32 // keys, sorted by a column
}

// keyStat counts a key's transactions and operations.
type keyStat struct {
	reads, writes, readers, writers, versions, longest uint32
	// overlaps counts pairs of concurrent transactions on the key, at least one of which wrote it.
	overlaps uint64
}

// newKeys makes the table. It calls told with its progress in percent. Errors: ctx's. Cost: three passes over the
// operations, and sorting each key's transactions by time. Memory: 5 bytes for each transaction and key that it
// touches, and 40 for each key.
func newKeys(ctx context.Context, x *axis, told func(done int)) (*keys, error) {
	h := x.h
	k := &keys{h: h, off: make([]uint32, h.NumKeys()+1), stat: make([]keyStat, h.NumKeys()),
		orders: map[string][]uint32{}}
	seen := make([]uint32, h.NumKeys()) // the last transaction that touched a key, plus one
	wrote, read := make([]uint32, h.NumKeys()), make([]uint32, h.NumKeys())
	const slice = 1 << 16
	step := func(from, share, t int) error {
		if t%slice == 0 {
			told(from + share*t/max(1, h.NumTxns()))
			return ctx.Err()
		}
		return nil
	}
	for t := range uint32(h.NumTxns()) {
		if err := step(0, 30, int(t)); err != nil {
			return nil, err
		}
		for op := range h.EachOp(t) {
			report.EachKey(h, op, func(key uint32, reads, writes bool) {
				if seen[key] != t+1 {
					seen[key] = t + 1
					k.off[key+1]++
				}
				k.stat[key].noted(t, key, reads, writes, read, wrote)
			})
			if h.Ops.Kind[op] == history.ReadList {
				v := h.Ops.Ver[op]
				s := &k.stat[h.Lists.Key[v]]
				s.longest = max(s.longest, h.Lists.Off[v+1]-h.Lists.Off[v])
			}
		}
	}
	for _, key := range h.VerKey {
		k.stat[key].versions++
	}
	for i := 1; i < len(k.off); i++ {
		k.off[i] += k.off[i-1]
	}
	k.txns = make([]uint32, k.off[len(k.off)-1])
	k.wrote = make([]bool, len(k.txns))
	next := slices.Clone(k.off)
	clear(seen)
	for t := range uint32(h.NumTxns()) {
		if err := step(30, 30, int(t)); err != nil {
			return nil, err
		}
		for op := range h.EachOp(t) {
			report.EachKey(h, op, func(key uint32, _, writes bool) {
				if seen[key] != t+1 {
					seen[key] = t + 1
					k.txns[next[key]] = t
					next[key]++
				}
				if writes {
					k.wrote[next[key]-1] = true
				}
			})
		}
	}
	return k, k.overlaps(ctx, x, told)
}

// noted counts that transaction t reads or writes a key. read and wrote have each key's last counted transaction,
// plus one.
func (s *keyStat) noted(t, key uint32, reads, writes bool, read, wrote []uint32) {
	if reads {
		s.reads++
		if read[key] != t+1 {
			read[key] = t + 1
			s.readers++
		}
	}
	if writes {
		s.writes++
		if wrote[key] != t+1 {
			wrote[key] = t + 1
			s.writers++
		}
	}
}

// overlaps counts, for each key, the pairs of concurrent transactions.
func (k *keys) overlaps(ctx context.Context, x *axis, told func(done int)) error {
	var all, readers pairs
	for key := range k.stat {
		if key%1024 == 0 {
			told(60 + 40*key/len(k.stat))
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		s := &k.stat[key]
		if s.writers == 0 || s.writers+s.readers < 2 {
			continue
		}
		all.reset()
		readers.reset()
		for i, t := range k.of(uint32(key)) {
			if t == x.h.Init {
				continue
			}
			all.add(x.start[t], x.end[t])
			if !k.wrote[int(k.off[key])+i] {
				readers.add(x.start[t], x.end[t])
			}
		}
		s.overlaps = all.count() - readers.count()
	}
	return nil
}

// pairs counts pairs of overlapping intervals.
type pairs struct{ begin, end []int64 }

func (p *pairs) reset() { p.begin, p.end = p.begin[:0], p.end[:0] }

func (p *pairs) add(begin, end int64) {
	p.begin, p.end = append(p.begin, begin), append(p.end, end)
}

// count returns the number of overlapping pairs. Cost: that of sorting.
func (p *pairs) count() (n uint64) {
	slices.Sort(p.begin)
	slices.Sort(p.end)
	gone := 0
	for i, at := range p.begin {
		for gone < len(p.end) && p.end[gone] < at {
			gone++
		}
		n += uint64(i - gone)
	}
	return n
}

// of returns the transactions that touched a key, in the order of the file.
func (k *keys) of(key uint32) []uint32 { return k.txns[k.off[key]:k.off[key+1]] }

// writes reports whether a transaction wrote a key.
func writes(h *history.History, t, key uint32) (yes bool) {
	lo, hi := h.TxnOps(t)
	for op := lo; op < hi && !yes; op++ {
		report.EachKey(h, op, func(k uint32, _, writes bool) { yes = yes || writes && k == key })
	}
	return yes
}

// keysJSON is a page of the table of keys.
type keysJSON struct {
	Total int       `json:"total"`
	Page  int       `json:"page"`
	Pages int       `json:"pages"`
	Keys  []keyJSON `json:"keys"`
}

type keyJSON struct {
	Key      uint32 `json:"key"`
	Name     string `json:"name"`
	Txns     uint32 `json:"txns"`
	Reads    uint32 `json:"reads"`
	Writes   uint32 `json:"writes"`
	Readers  uint32 `json:"readers"`
	Writers  uint32 `json:"writers"`
	Versions uint32 `json:"versions"`
	Longest  uint32 `json:"longest"` // of a list: its greatest length read
	Overlaps uint64 `json:"overlaps"`
}

const (
	keysAPage = 50
	maxFound  = 100_000 // keys that a search finds at most
)

// page returns page number at of the table, counted from 0. It sorts by a column, greatest first unless ascending is
// set. Cost: sorting, once for each column; with a search, a pass over all names.
func (k *keys) page(column string, ascending bool, search string, at int) keysJSON {
	order := k.order(column)
	if search = strings.ToLower(search); search != "" {
		var found []uint32
		for _, key := range order {
			if strings.Contains(strings.ToLower(report.KeyName(k.h, key)), search) {
				found = append(found, key)
				if len(found) == maxFound {
					break
				}
			}
		}
		order = found
	}
	n := len(order)
	out := keysJSON{Total: n, Pages: max(1, (n+keysAPage-1)/keysAPage), Keys: []keyJSON{}}
	out.Page = max(0, min(at, out.Pages-1))
	for i := out.Page * keysAPage; i < min(n, (out.Page+1)*keysAPage); i++ {
		if ascending {
			out.Keys = append(out.Keys, k.json(order[n-1-i]))
		} else {
			out.Keys = append(out.Keys, k.json(order[i]))
		}
	}
	return out
}

func (k *keys) json(key uint32) keyJSON {
	s := k.stat[key]
	return keyJSON{Key: key, Name: escape.XML(report.KeyName(k.h, key)), Txns: k.off[key+1] - k.off[key],
		Reads: s.reads, Writes: s.writes, Readers: s.readers, Writers: s.writers, Versions: s.versions,
		Longest: s.longest, Overlaps: s.overlaps}
}

// columns maps the name of each column to its value for a key.
var columns = map[string]func(k *keys, key uint32) uint64{
	"overlaps": func(k *keys, key uint32) uint64 { return k.stat[key].overlaps },
	"txns":     func(k *keys, key uint32) uint64 { return uint64(k.off[key+1] - k.off[key]) },
	"reads":    func(k *keys, key uint32) uint64 { return uint64(k.stat[key].reads) },
	"writes":   func(k *keys, key uint32) uint64 { return uint64(k.stat[key].writes) },
	"readers":  func(k *keys, key uint32) uint64 { return uint64(k.stat[key].readers) },
	"writers":  func(k *keys, key uint32) uint64 { return uint64(k.stat[key].writers) },
	"versions": func(k *keys, key uint32) uint64 { return uint64(k.stat[key].versions) },
	"longest":  func(k *keys, key uint32) uint64 { return uint64(k.stat[key].longest) },
}

// order returns the keys sorted by a column, greatest first. For an unknown column it sorts them by name.
func (k *keys) order(column string) []uint32 {
	of, known := columns[column]
	if !known {
		column = "name"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if o, ok := k.orders[column]; ok {
		return o
	}
	o := slice.Numbers[uint32](len(k.stat))
	if known {
		slices.SortFunc(o, func(a, b uint32) int { return cmp.Or(cmp.Compare(of(k, b), of(k, a)), cmp.Compare(a, b)) })
	} else {
		names := slice.Map(o, func(key uint32) string { return report.KeyName(k.h, key) })
		slices.SortFunc(o, func(a, b uint32) int { return cmp.Or(k.byName(names, b, a), cmp.Compare(a, b)) })
	}
	k.orders[column] = o
	return o
}

// byName orders keys: numbers first, by value, then the others by text.
func (k *keys) byName(names []string, a, b uint32) int {
	x, y := k.h.Keys[a], k.h.Keys[b]
	if x.Kind == history.Int && y.Kind == history.Int {
		return cmp.Compare(x.N, y.N)
	}
	return cmp.Or(cmp.Compare(x.Kind, y.Kind), strings.Compare(names[a], names[b]))
}
