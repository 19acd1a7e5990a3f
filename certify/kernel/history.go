package kernel

// Cell is the content of a key: its elements, the oldest first (History.v has the newest first). A register with the
// value v is the list of v alone, an absent key the empty list. Elements are numbers from 1 on, below 1<<32 - 1.
type Cell []uint32

// OpKind is the kind of an operation.
type OpKind uint8

const (
	Read   OpKind = iota // Key held Cell
	Search               // exactly the keys of Match were found to match its predicate
	Write                // Key was set to Cell
	Append               // Elem was put at the end of Key's list
)

// Op is an operation (History.v, op).
type Op struct {
	Kind      OpKind
	Key, Elem uint32
	Cell      Cell
	Match     *Match
}

// Match is the result of a predicate operation: exactly the keys found. All that certainly match are among them, and
// none that cannot.
type Match struct {
	Pred *Pred
	Keys []uint32
}

// Pred is a predicate: for each key the cells for which it is true (Cells), and those for which it is unknown (Maybe).
// Different predicates of a history have different names, from 1 on.
type Pred struct {
	Name         uint32
	Cells, Maybe map[uint32][]Cell
}

// Txn is a transaction. Committed is false if its outcome is unknown; NoEnd is set if it has no Ended.
type Txn struct {
	ID, Session uint32
	Committed   bool
	NoEnd       bool
	Began       uint64
	Ended       uint64
	Ops         []Op
}

// History has the transactions of each session in their order.
type History struct {
	Init map[uint32]Cell
	Txns []Txn
}

// Level is one of the six: Serial, else snapshot isolation.
type Level struct{ Serial, Sessions, RealTime bool }

func equal(x, y Cell) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

func among(cells []Cell, x Cell) bool {
	for _, y := range cells {
		if equal(x, y) {
			return true
		}
	}
	return false
}

// certain reports whether the predicate is true of a key that holds x (History.v, matches certain_of).
func (p *Pred) certain(k uint32, x Cell) bool { return among(p.Cells[k], x) }

// possible reports whether the predicate is or may be true of a key that holds x (History.v, matches possible_of).
func (p *Pred) possible(k uint32, x Cell) bool { return p.certain(k, x) || among(p.Maybe[k], x) }

func mem(k uint32, ks []uint32) bool {
	for _, j := range ks {
		if j == k {
			return true
		}
	}
	return false
}

// Writes reports whether the operations write k.
func Writes(k uint32, ops []Op) bool {
	for i := range ops {
		if ops[i].Kind >= Write && ops[i].Key == k {
			return true
		}
	}
	return false
}

// A sym is the content of a key after some operations (Symbolic.v): Cell, or, if keep, the earlier content followed by
// Cell.
type sym struct {
	keep bool
	cell Cell
}

func push(e uint32, y sym) sym {
	return sym{y.keep, append(y.cell[:len(y.cell):len(y.cell)], e)}
}

func symEffect(k uint32, ops []Op, y sym) sym {
	for i := range ops {
		switch o := &ops[i]; {
		case o.Kind == Write && o.Key == k:
			y = sym{false, o.Cell}
		case o.Kind == Append && o.Key == k:
			y = push(o.Elem, y)
		}
	}
	return y
}
