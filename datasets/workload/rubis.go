package workload

import "math/rand/v2"

func newRubis(p Params) (Workload, error) {
	if err := needKeys(p, 2); err != nil {
		return nil, err
	}
	users := int64(p.Keys)
	return &rubis{users: users, user: NewZipf(p.Keys, p.Zipf), item: NewZipf(4*p.Keys, p.Zipf),
		bids: p.Variant == "bidding"}, nil
}

const (
	rubisRegions = iota
	rubisUsers
	rubisNicks // name → user
	rubisRatings
	rubisItems // payload: quantity; of a bid: the highest bid
	rubisBuyNows
	rubisComments
	rubisBids

	regions = 62
)

type rubis struct {
	users      int64
	user, item Dist
	bids       bool
}

func (w *rubis) Tables() []Table {
	n := int(w.users)
	return []Table{
		{Name: "region", Rows: regions}, {Name: "user", Rows: n}, {Name: "nick", Rows: n}, {Name: "rating", Rows: n},
		{Name: "item", Rows: 4 * n, Payload: 100}, {Name: "buynow"}, {Name: "comment", Rows: 8 * n, Sparse: true},
		{Name: "bid"},
	}
}

func (w *rubis) Client(session int, rng *rand.Rand) Client {
	return &rubisClient{w: w, rng: rng, next: (int64(session) + 1) * clientBlock}
}

type rubisClient struct {
	w    *rubis
	rng  *rand.Rand
	next int64 // key of whatever it makes next
}

// Next draws a user, items, a quantity, a region or nickname, and the key of a new row.
func (c *rubisClient) Next(t *Txn) {
	c.next++
	n := c.rng.IntN(100)
	switch {
	case c.w.bids && c.rng.IntN(4) == 0:
		t.Name = "Bid"
	case n < 10:
		t.Name = "RegisterUser"
	case n < 25:
		t.Name = "RegisterItem"
	case n < 40:
		t.Name = "StoreBuyNow"
	case n < 60:
		t.Name = "StoreComment"
	default:
		t.Name = "Browse"
	}
	// Names are few: sometimes two register the same.
	t.Args = append(t.Args[:0], c.next, c.rng.Int64N(regions), c.w.users+c.rng.Int64N(16*c.w.users), 1+c.rng.Int64N(3))
	for range 3 {
		t.Args = append(t.Args, c.w.user.Draw(c.rng))
	}
	for range 5 {
		t.Args = append(t.Args, c.w.item.Draw(c.rng))
	}
}

func (c *rubisClient) Step(t *Txn) {
	id, quantity := t.Args[0], t.Args[3]
	user, item := t.Args[4:7], t.Args[7:]
	nick := MakeKey(rubisNicks, t.Args[2])
	first := MakeKey(rubisItems, item[0])
	if t.Stage == 0 {
		switch t.Name {
		case "RegisterUser":
			t.Read(MakeKey(rubisRegions, t.Args[1]))
			t.Read(nick)
			t.Read(MakeKey(rubisUsers, id))
		case "RegisterItem":
			t.Read(MakeKey(rubisUsers, user[0]))
			t.Write(MakeKey(rubisItems, id), 100)
		case "StoreBuyNow", "Bid":
			t.Read(first)
		case "StoreComment":
			t.Write(MakeKey(rubisComments, id), 0)
			t.Read(MakeKey(rubisRatings, user[0]))
		case "Browse":
			for _, i := range item {
				t.Read(MakeKey(rubisItems, i))
			}
			for _, u := range user {
				t.Read(MakeKey(rubisRatings, u))
			}
		}
		return
	}
	if t.Stage > 1 {
		return
	}
	switch t.Name {
	case "RegisterUser":
		if t.Ops[1].Absent {
			t.Write(MakeKey(rubisUsers, id), 0)
			t.Write(nick, id)
			t.Write(MakeKey(rubisRatings, id), 0)
		}
	case "StoreBuyNow":
		if left := t.Last().Payload; left >= quantity {
			t.Write(first, left-quantity)
			t.Write(MakeKey(rubisBuyNows, id), quantity)
		}
	case "Bid":
		t.Write(MakeKey(rubisBids, id), quantity)
		t.Write(first, t.Ops[0].Payload+quantity)
	case "StoreComment":
		t.Write(MakeKey(rubisRatings, user[0]), t.Last().Payload+1)
	}
}
