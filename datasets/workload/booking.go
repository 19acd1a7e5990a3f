package workload

import (
	"math"
	"math/rand/v2"
)

func newBooking(p Params) (Workload, error) {
	return &booking{rooms: int64(p.Keys), sessions: int64(p.Sessions), rush: p.Variant == "rush"}, needKeys(p, 2)
}

const (
	bookings = iota // room, start, end
	invoices        // customer, amount, paid

	bookingRoom  = 0
	bookingStart = 1
	bookingEnd   = 2

	invoiceCustomer = 0
	invoicePaid     = 2

	bookingHours = 96 // bookings lie in [0, bookingHours)
	creditLimit  = 12 // hours that a customer may owe
)

// booking begins with empty tables. Two rules hold in every serial run: bookings of a room do not overlap, and a
// customer who owes creditLimit hours books no more. Predicate reads check both before rows are inserted under new
// keys of the client. So neither row locks nor the first-updater rule of snapshot isolation protect them.
type booking struct {
	rooms, sessions int64
	rush            bool
}

func (w *booking) Tables() []Table {
	return []Table{
		{Name: "booking", Columns: []Column{{"room", true}, {"start", true}, {"end", false}}},
		{Name: "invoice", Columns: []Column{{"customer", true}, {"amount", false}, {"paid", false}}},
	}
}

func (w *booking) Client(session int, rng *rand.Rand) Client {
	return &bookingClient{w: w, rng: rng, next: int64(session)}
}

type bookingClient struct {
	w    *booking
	rng  *rand.Rand
	next int64 // key of its next booking and invoice
}

// Next draws room, another room, start, length, customer and a key.
func (c *bookingClient) Next(t *Txn) {
	switch n := c.rng.IntN(100); {
	case c.w.rush && n < 80 || n < 40:
		t.Name = "Book"
	case c.w.rush || n < 55:
		t.Name = "Cancel"
	case n < 65:
		t.Name = "Move"
	case n < 80:
		t.Name = "Agenda"
	case n < 95:
		t.Name = "Pay"
	default:
		t.Name = "Archive"
	}
	length := 1 + c.rng.Int64N(4)
	room := c.rng.Int64N(c.w.rooms)
	t.Args = append(t.Args[:0], room, (room+1+c.rng.Int64N(c.w.rooms-1))%c.w.rooms, c.rng.Int64N(bookingHours-length+1),
		length, c.rng.Int64N(2*c.w.rooms), c.next)
	if t.Name == "Book" {
		c.next += c.w.sessions
	}
}

// overlaps is the condition for a room's bookings that overlap [start, end).
func overlaps(room, start, end int64) [3]Range {
	return [3]Range{Equal(bookingRoom, room), {bookingStart, math.MinInt64, end}, {bookingEnd, start + 1,
		math.MaxInt64}}
}

func (c *bookingClient) Step(t *Txn) {
	room, other, start, end, customer := t.Args[0], t.Args[1], t.Args[2], t.Args[2]+t.Args[3], t.Args[4]
	here, there := overlaps(room, start, end), overlaps(other, start, end)
	owes := [2]Range{Equal(invoiceCustomer, customer), Equal(invoicePaid, 0)}
	switch {
	case t.Stage == 0:
		switch t.Name {
		case "Book":
			t.ReadWhere(bookings, here[:]...)
			t.ReadWhere(invoices, owes[:]...)
		case "Cancel":
			t.DeleteWhere(bookings, here[:]...)
		case "Move":
			t.ReadWhere(bookings, there[:]...)
		case "Agenda":
			t.ReadWhere(bookings, Range{bookingStart, start, start + 8})
		case "Pay":
			t.ReadWhere(invoices, owes[:]...)
		case "Archive":
			t.DeleteWhere(invoices, Equal(invoiceCustomer, customer), Equal(invoicePaid, 1))
		}
	case t.Stage > 1:
	case t.Name == "Book":
		debt := end - start
		for _, f := range t.Ops[1].Found {
			debt += f.Row[1]
		}
		if len(t.Ops[0].Found) == 0 && debt <= creditLimit {
			t.WriteRow(MakeKey(bookings, t.Args[5]), room, start, end)
			t.WriteRow(MakeKey(invoices, t.Args[5]), customer, end-start, 0)
		}
	case t.Name == "Move":
		// Only what lies wholly in the time that is free there.
		if len(t.Ops[0].Found) == 0 {
			t.UpdateWhere(bookings, []Set{{Column: bookingRoom, Add: other}},
				Equal(bookingRoom, room), Range{bookingStart, start, end}, Range{bookingEnd, start, end + 1})
		}
	case t.Name == "Pay":
		if len(t.Ops[0].Found) > 0 {
			t.UpdateWhere(invoices, []Set{{Column: invoicePaid, Add: 1}}, owes[:]...)
		}
	}
}
