package predicates

import (
	"runtime"

	"isovet/history"
	"isovet/internal/safego"
	"isovet/internal/slice"
)

// decode makes the items and the columns, the first of which is "there is a row", on all cores.
func (x *Index) decode(cols []cells) (there []bool) {
	h := x.h
	versions := uint32(h.NumVersions())
	isList := x.numberItems()
	seen := named(h)
	n := versions + uint32(len(x.initKey))
	there = make([]bool, n)
	workers := max(min(runtime.GOMAXPROCS(0), int(n/minItems)), 1)
	first := make([]int, workers+1) // row of each worker's
	from := func(w int) uint32 { return uint32(uint64(n) * uint64(w) / uint64(workers)) }
	each := func(f func(w int)) {
		var g safego.Group
		for w := range workers {
			g.Go(func() { f(w) })
		}
		g.Wait()
	}
	value := func(item uint32) history.Value {
		if item < versions {
			return h.VerValue(item)
		}
		return h.Initial
	}
	each(func(w int) {
		rows := 0
		for item := from(w); item < from(w+1); item++ {
			if value(item).Kind == history.Null || isList[x.key(item)] || item < versions &&
				seen[item>>6]>>(item&63)&1 == 0 {
				continue
			}
			there[item] = true
			rows++
		}
		first[w+1] = rows
	})
	for w := range workers {
		first[w+1] += first[w]
	}
	all := first[workers]
	for i := range cols {
		cols[i].kind, cols[i].n = make([]history.ValueKind, all), make([]uint64, all)
	}
	ds := make([]decoder, workers)
	each(func(w int) {
		ds[w] = decoder{h: h, cols: cols, strID: map[string]int64{}}
		row := uint32(first[w])
		for item := from(w); item < from(w+1); item++ {
			if there[item] {
				ds[w].decode(row, x.key(item), value(item))
				row++
			}
		}
	})
	for w := range ds {
		ds[0].adopt(&ds[w], first[w], first[w+1])
	}
	x.cols = make([]column, len(cols)+1)
	var r safego.Group
	x.cols[0].start = []uint32{0, 0, uint32(all)}
	for i := range cols {
		r.Go(func() { x.cols[i+1] = ds[0].rank(&cols[i], there, all) })
	}
	r.Wait()
	return there
}

// numberItems numbers the items of keys; isList says which keys hold lists and so have none.
func (x *Index) numberItems() (isList []bool) {
	h := x.h
	isList = make([]bool, h.NumKeys())
	for _, k := range h.Lists.Key {
		isList[k] = true
	}
	for op, k := range h.Ops.Kind {
		if k == history.Append {
			isList[h.VerKey[h.Ops.Ver[op]]] = true
		}
	}
	x.itemOf = make([]uint32, h.NumKeys())
	for k := range x.itemOf {
		x.itemOf[k] = history.None
		switch {
		case isList[k]:
		case h.InitVer[k] != history.None:
			x.itemOf[k] = h.InitVer[k]
		case h.Initial.Kind != history.Null:
			x.itemOf[k] = uint32(h.NumVersions() + len(x.initKey))
			x.initKey = append(x.initKey, uint32(k))
		}
	}
	return isList
}

// minItems is the least number of items for which another core is used.
const minItems = 1 << 12

// adopt takes over the strings that another decoder found in the cells of rows lo:hi, under numbers of d.
func (d *decoder) adopt(o *decoder, lo, hi int) {
	if d == o || len(o.strs) == 0 {
		return
	}
	id := slice.Map(o.strs, func(s string) int64 { return d.str([]byte(s)) })
	for i := range d.cols {
		c := &d.cols[i]
		for row := lo; row < hi; row++ {
			if c.kind[row] == history.String {
				c.n[row] = uint64(id[c.n[row]])
			}
		}
	}
}
