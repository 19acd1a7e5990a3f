package workload

import (
	"math/rand/v2"
	"slices"
)

func newTpcc(p Params) (Workload, error) {
	w := &tpcc{customers: int64(p.Keys), items: int64(p.Keys) * 100 / 3, deliver: tpccDistricts}
	if p.Variant == "district" {
		w.deliver = 1
	}
	return w, needKeys(p, 30)
}

const (
	tpccWarehouse = iota
	tpccDistrict  // payload: next order
	tpccCustomer
	tpccItem
	tpccStock
	tpccOrder      // packed: customer, lines, carrier
	tpccNewOrder   // undelivered
	tpccOrderLine  // payload: item
	tpccHistory    // client's own
	tpccNewOrders  // district → first and last undelivered order, packed
	tpccLastName   // (district, name) → customers
	tpccLastOrder  // (district, customer) → order
	tpccDistricts  = 10
	tpccLines      = 16 // places for lines in the keys of an order; 5 to 15 are used
	tpccLastOrders = 20 // that StockLevel looks at
)

// tpcc numbers orders order·10 + district, so that the loaded orders come first. Their customers are a permutation.
type tpcc struct {
	customers, items int64
	deliver          int // districts of a Delivery
}

func packPair(a, b int64) int64            { return a<<32 | b }
func unpackPair(p int64) (int64, int64)    { return p >> 32, p & (1<<32 - 1) }
func packOrder(c, lines int64) int64       { return c<<8 | lines }
func unpackOrder(p int64) (c, lines int64) { return p >> 8, p & 0xff }

// orderCustomer returns the customer of loaded order o in district d. loadedOrder is its inverse.
func (w *tpcc) orderCustomer(d, o int64) int64 { return (o + 17*d) % w.customers }
func (w *tpcc) loadedOrder(d, c int64) int64 {
	return ((c-17*d)%w.customers + w.customers) % w.customers
}

// names returns the number of last names. Customer c of a district has name c mod names.
func (w *tpcc) names() int64 { return max(w.customers/3, 1) }

func (w *tpcc) Tables() []Table {
	n := int(w.customers)
	return []Table{
		tpccWarehouse: {Name: "warehouse", Rows: 1},
		tpccDistrict:  {Name: "district", Rows: tpccDistricts, Payload: w.customers},
		tpccCustomer:  {Name: "customer", Rows: tpccDistricts * n, Sparse: true},
		tpccItem:      {Name: "item", Rows: int(w.items), Sparse: true},
		tpccStock:     {Name: "stock", Rows: int(w.items), Payload: 100, Sparse: true},
		tpccOrder: {Name: "order", Rows: tpccDistricts * n, Sparse: true, PayloadOf: func(pk int64) int64 {
			return packOrder(w.orderCustomer(pk%tpccDistricts, pk/tpccDistricts), 5+int64(scatter(uint64(pk))%11))
		}},
		tpccNewOrder: {Name: "neworder", Rows: tpccDistricts * n, Sparse: true},
		tpccOrderLine: {Name: "orderline", Rows: tpccDistricts * n * tpccLines, Sparse: true,
			PayloadOf: func(pk int64) int64 {
				return int64(scatter(uint64(pk)) % uint64(w.items))
			}},
		tpccHistory:   {Name: "history"},
		tpccNewOrders: {Name: "neworders", Rows: tpccDistricts, Payload: packPair(w.customers*7/10, w.customers-1)},
		tpccLastName: {Name: "lastname", Rows: tpccDistricts * int(w.names()), Sparse: true,
			WideOf: func(pk int64) []int64 {
				var out []int64
				for c := pk / tpccDistricts; c < w.customers; c += w.names() {
					out = append(out, c)
				}
				return out
			}},
		tpccLastOrder: {Name: "lastorder", Rows: tpccDistricts * n, Sparse: true, PayloadOf: func(pk int64) int64 {
			return w.loadedOrder(pk%tpccDistricts, pk/tpccDistricts)
		}},
	}
}

func (w *tpcc) Client(session int, rng *rand.Rand) Client {
	return &tpccClient{w: w, rng: rng, history: (int64(session) + 1) * clientBlock}
}

type tpccClient struct {
	w       *tpcc
	rng     *rand.Rand
	history int64
	set     distinct
	items   []int64
	at      int // of a Delivery: the district that is being served
	phase   int
}

// nuRand is TPC-C's non-uniform distribution over [0, n) (clause 2.1.6).
func (c *tpccClient) nuRand(a, n int64) int64 {
	return ((c.rng.Int64N(a+1) | c.rng.Int64N(n)) + a/3) % n
}

// tpccItems is the distribution of the items of an order.
type tpccItems struct{ c *tpccClient }

func (d tpccItems) Draw(*rand.Rand) int64 { return d.c.nuRand(8191, d.c.w.items) }

// Next draws the district, the customer, by name (1) or not, an amount or threshold, rollback (1) or not, a key for
// the history table, and items. Items are sorted, so that transactions lock stocks in the same order.
func (c *tpccClient) Next(t *Txn) {
	n := c.rng.IntN(100)
	d, customer := c.rng.Int64N(tpccDistricts), c.nuRand(1023, c.w.customers)
	byName := int64(0)
	if c.rng.IntN(10) < 6 {
		byName = 1
	}
	rollback := int64(0)
	if c.rng.IntN(100) == 0 {
		rollback = 1
	}
	c.history++
	t.Args = append(t.Args[:0], d, customer, byName, 10+c.rng.Int64N(11), rollback, c.history)
	switch {
	case n < 45:
		t.Name = "NewOrder"
		t.Args = c.set.draw(t.Args, 5+c.rng.IntN(11), tpccItems{c}, c.rng)
		slices.Sort(t.Args[6:])
	case n < 88:
		t.Name = "Payment"
	case n < 92:
		t.Name = "OrderStatus"
	case n < 96:
		t.Name = "Delivery"
	default:
		t.Name = "StockLevel"
	}
}

func inDistrict(table int, d, n int64) Key { return MakeKey(table, n*tpccDistricts+d) }

func line(d, o, l int64) Key { return MakeKey(tpccOrderLine, (o*tpccDistricts+d)*tpccLines+l) }

func (c *tpccClient) Step(t *Txn) {
	switch t.Name {
	case "NewOrder":
		c.newOrder(t)
	case "Payment":
		c.payment(t)
	case "OrderStatus":
		c.orderStatus(t)
	case "Delivery":
		c.delivery(t)
	case "StockLevel":
		c.stockLevel(t)
	}
}

func (c *tpccClient) newOrder(t *Txn) {
	d, customer, items := t.Args[0], t.Args[1], t.Args[6:]
	district, undelivered := MakeKey(tpccDistrict, d), MakeKey(tpccNewOrders, d)
	switch t.Stage {
	case 0:
		t.Read(MakeKey(tpccWarehouse, 0))
		t.ReadForUpdate(district)
		return
	case 1:
		o := t.Ops[1].Payload
		t.Write(district, o+1)
		t.Read(inDistrict(tpccCustomer, d, customer))
		t.Write(inDistrict(tpccOrder, d, o), packOrder(customer, int64(len(items))))
		t.Write(inDistrict(tpccNewOrder, d, o), 0)
		t.Write(inDistrict(tpccLastOrder, d, customer), o)
		t.ReadForUpdate(undelivered)
		return
	}
	o := t.Ops[1].Payload
	l := int64(t.Stage - 2) // the line that this step reads; it writes the one before
	if l > int64(len(items)) {
		return
	}
	if l == 0 {
		first, _ := unpackPair(t.Last().Payload)
		t.Write(undelivered, packPair(first, o))
	} else {
		left := t.Last().Payload - t.Args[3]%10 - 1
		if left < 10 {
			left += 91
		}
		t.Write(MakeKey(tpccStock, items[l-1]), left)
		t.Write(line(d, o, l-1), items[l-1])
	}
	if l < int64(len(items)) {
		t.Read(MakeKey(tpccItem, items[l]))
		t.ReadForUpdate(MakeKey(tpccStock, items[l]))
		return
	}
	t.Rollback = t.Args[4] == 1
}

func (c *tpccClient) payment(t *Txn) {
	d, amount := t.Args[0], t.Args[3]
	w, district := MakeKey(tpccWarehouse, 0), MakeKey(tpccDistrict, d)
	switch t.Stage {
	case 0:
		t.ReadForUpdate(w)
		t.ReadForUpdate(district)
		return
	case 1:
		t.Write(w, t.Ops[0].Payload+amount)
		t.Write(district, t.Ops[1].Payload) // its total, which nothing here needs
		if t.Args[2] == 1 {
			t.Read(inDistrict(tpccLastName, d, t.Args[1]%c.w.names()))
		} else {
			t.Read(inDistrict(tpccCustomer, d, t.Args[1]))
		}
		return
	case 2:
		if t.Args[2] == 1 {
			for _, id := range t.Last().Row {
				t.Read(inDistrict(tpccCustomer, d, id))
			}
			return
		}
	case 3:
		if t.Args[2] == 0 {
			return
		}
	default:
		return
	}
	// The customer: of several of the name, the one in the middle (clause 2.5.2.2).
	read := t.Ops[4+(len(t.Ops)-4)/2]
	t.Write(read.Key, read.Payload-amount)
	t.Write(MakeKey(tpccHistory, t.Args[5]), amount)
}

func (c *tpccClient) orderStatus(t *Txn) {
	d := t.Args[0]
	stage := t.Stage
	if t.Args[2] == 0 {
		stage++
	}
	switch stage {
	case 0:
		t.Read(inDistrict(tpccLastName, d, t.Args[1]%c.w.names()))
	case 1:
		if t.Args[2] == 0 {
			t.Read(inDistrict(tpccCustomer, d, t.Args[1]))
			return
		}
		for _, id := range t.Last().Row {
			t.Read(inDistrict(tpccCustomer, d, id))
		}
	case 2:
		from := int(t.Args[2]) // after the name, if there was one
		customer := t.Ops[from+(len(t.Ops)-from)/2].Key.PK() / tpccDistricts
		t.Read(inDistrict(tpccLastOrder, d, customer))
	case 3:
		t.Read(inDistrict(tpccOrder, d, t.Last().Payload))
	case 4:
		o := t.Last().Key.PK() / tpccDistricts
		_, lines := unpackOrder(t.Last().Payload)
		for l := range lines {
			t.Read(line(d, o, l))
		}
	}
}

// delivery handles one district after the other: the oldest undelivered order of each, if there is one.
func (c *tpccClient) delivery(t *Txn) {
	if t.Stage == 0 {
		c.at, c.phase = 0, 0
	}
	for ; c.at < c.w.deliver; c.at, c.phase = c.at+1, 0 {
		d := int64(c.at)
		if c.w.deliver == 1 {
			d = t.Args[0]
		}
		c.phase++
		switch c.phase {
		case 1:
			t.ReadForUpdate(MakeKey(tpccNewOrders, d))
			return
		case 2:
			first, last := unpackPair(t.Last().Payload)
			if first > last {
				continue
			}
			t.Write(MakeKey(tpccNewOrders, d), packPair(first+1, last))
			t.Read(inDistrict(tpccNewOrder, d, first))
			t.Delete(inDistrict(tpccNewOrder, d, first))
			t.ReadForUpdate(inDistrict(tpccOrder, d, first))
			return
		case 3:
			order := *t.Last()
			customer, lines := unpackOrder(order.Payload)
			t.Write(order.Key, order.Payload)
			t.ReadForUpdate(inDistrict(tpccCustomer, d, customer))
			for l := range lines {
				t.ReadForUpdate(line(d, order.Key.PK()/tpccDistricts, l))
			}
			return
		}
		// The customer and the lines, each with what was read.
		from := len(t.Ops) - 1
		for t.Ops[from].Key.Table() != tpccCustomer {
			from--
		}
		for _, op := range t.Ops[from:len(t.Ops):len(t.Ops)] {
			t.Write(op.Key, op.Payload)
		}
	}
}

func (c *tpccClient) stockLevel(t *Txn) {
	d := t.Args[0]
	switch t.Stage {
	case 0:
		t.Read(MakeKey(tpccDistrict, d))
	case 1:
		next := t.Last().Payload
		for o := max(next-tpccLastOrders, 0); o < next; o++ {
			t.Read(inDistrict(tpccOrder, d, o))
		}
	case 2:
		for i := 1; i <= tpccLastOrders && i < len(t.Ops); i++ {
			_, lines := unpackOrder(t.Ops[i].Payload)
			o := t.Ops[i].Key.PK() / tpccDistricts
			for l := range lines {
				t.Read(line(d, o, l))
			}
		}
	case 3:
		c.items = c.items[:0]
		for i := range t.Ops {
			if op := &t.Ops[i]; op.Key.Table() == tpccOrderLine && !op.Absent {
				c.items = append(c.items, op.Payload)
			}
		}
		slices.Sort(c.items)
		for _, i := range slices.Compact(c.items) {
			t.Read(MakeKey(tpccStock, i))
		}
	}
}
