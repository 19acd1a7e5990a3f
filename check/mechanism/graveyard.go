package mechanism

// grave is a value whose version was forgotten, or never installed.
type grave struct {
	val    uint64
	before int64  // 1 + the number of the key's grave before this; 0: none
	id     uint64 // the writer
	op     uint32
	// The transaction that certainly overwrote the version. none and uninstalled: the version was never installed,
	// because its transaction aborted or wrote the key again.
	overID uint64
	overOp uint32
}

// uninstalled is grave.overOp of a version that was never installed.
const uninstalled = 1

// graveyard has the latest values that were forgotten or never installed, so that the report of a read does not depend
// on when its value was forgotten. It decides no verdict. Invariant: grave i is ring[i%most], for made-most ≤ i < made.
type graveyard struct {
	ring []grave
	made int64
	most int64 // a power of two
}

// The size of the graveyard: small enough for the processor's cache, or 4 MB where a read waits for an unknown value.
const (
	fewGraves  = 1 << 10
	manyGraves = 1 << 17
)

func (g *graveyard) add(k *keyState, x grave) {
	x.before = k.buried
	if g.made < g.most {
		g.ring = append(g.ring, x)
	} else {
		g.ring[g.made&(g.most-1)] = x
	}
	g.made++
	k.buried = g.made
}

// version buries version i of a key, which was certainly overwritten.
func (g *graveyard) version(k *keyState, i int) {
	w := &k.vers[i]
	x := grave{val: w.val, id: w.id, op: w.op, overID: none}
	if j := i + 1; j < len(k.vers) && k.vers[j].c > w.d { // mostly the version that until names
		x.overID, x.overOp = k.vers[j].id, k.vers[j].op
	} else if _, j := k.until(i); j >= 0 {
		x.overID, x.overOp = k.vers[j].id, k.vers[j].op
	}
	g.add(k, x)
}

// find finds a value of a key. Cost: the key's graves; only violations ask.
func (g *graveyard) find(k *keyState, val uint64) *grave {
	for i := k.buried; i > 0 && i > g.made-g.most; {
		x := &g.ring[(i-1)&(g.most-1)]
		if x.val == val {
			return x
		}
		i = x.before
	}
	return nil
}

// buryUninstalled buries a write that was never installed.
func (v *Verifier) buryUninstalled(k *keyState, op *Trace, id uint64) {
	v.graves.add(k, grave{val: op.Val, id: id, op: op.Op, overID: none, overOp: uninstalled})
	v.appeared(op.Key, op.Val, id)
}
