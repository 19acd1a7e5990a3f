package mechanism

import (
	"isovet/internal/safego"
)

// team is the parts and the rest of an Online (parts.go). Each part is a goroutine's, and so is the rest, from Open to
// Join: they are told what to do in pieces, of which the rest takes one when all parts have done it.
type team struct {
	parts    []*Verifier
	rest     *Verifier
	commands []command
	sent     int
	feeds    []chan []command // to the parts, and to the rest behind them; nil: nobody has begun
	group    safego.Group
	spare    chan facts // to be used again
	used     [][]Trace
	cuts     int // said
	cut      int // done
	found    []Found
}

// Found is what has become certain by a Cut.
type Found struct {
	Cut        int // 0: the first since Join
	Violations []Violation
	Unjudged   []Unjudged
}

// command is what a verifier is to do.
type command struct {
	what   uint8
	lane   int32
	at     int64 // a time; sayConvict: a stage
	traces []Trace
}

const (
	sayBegin uint8 = iota
	sayDispatch
	sayAdvance
	sayLate
	sayArrived
	sayAttach
	sayConvict
	saySettle
	sayCut
)

// manyCommands is how many are handed over at once; fewTxns are not worth goroutines.
const (
	manyCommands = 512
	fewTxns      = 32
)

// Divide has so many goroutines know the keys, which Place gives them, beside one that does what spans keys. It comes
// first. Then nothing is verified before Join, and what has been found is what Join returns.
func (x *Online) Divide(parts int) {
	t := &team{rest: x.v}
	x.team = t
	x.v.rest = &rest{parts: make([]hearing, parts)}
	for i := range parts {
		o := x.o.Options
		o.Profile.Certifier = NoCertifier
		v := NewVerifier(0, o)
		v.p.Certifier = x.o.Profile.Certifier
		v.part = &part{places: &x.places, number: uint32(i), edges: x.v.g.on}
		t.parts = append(t.parts, v)
	}
	x.slots, x.free = make([]uint32, parts), make([][]uint32, parts)
}

// Place gives a key, which has this number from now on, to a part, by a hash of 64 bits that is the same whenever the
// key comes back. It is for when nobody works.
func (x *Online) Place(key uint32, sum uint64) {
	if x.team == nil {
		return
	}
	for int(key) >= len(x.places) {
		x.places = append(x.places, place{part: noPart})
	}
	at := uint32(sum >> 32 * uint64(len(x.team.parts)) >> 32)
	p := place{part: at}
	if free := x.free[at]; len(free) > 0 {
		p.slot, x.free[at] = free[len(free)-1], free[:len(free)-1]
	} else {
		p.slot = x.slots[at]
		x.slots[at]++
	}
	x.places[key] = p
}

// noPart has keys that nobody uses.
const noPart = ^uint32(0)

// leave takes a key's place.
func (x *Online) leave(key uint32) {
	if x.team != nil {
		p := &x.places[key]
		x.free[p.part] = append(x.free[p.part], p.slot)
		p.part = noPart
	}
}

// Parts are the verifiers that know keys, for who writes and reads back their state beside that of the Online.
func (x *Online) Parts() (all []any) {
	if x.team != nil {
		for _, v := range x.team.parts {
			all = append(all, v)
		}
	}
	return all
}

// all are the verifiers. It is for when nobody works.
func (x *Online) all(yield func(v *Verifier) bool) {
	if !yield(x.v) || x.team == nil {
		return
	}
	for _, v := range x.team.parts {
		if !yield(v) {
			return
		}
	}
}

// of is who knows a key.
func (x *Online) of(key uint32) *Verifier {
	if x.team == nil {
		return x.v
	}
	return x.team.parts[x.places[key].part]
}

// Open begins to work on so many transactions, in goroutines if they are worth it. Join ends it.
func (x *Online) Open(txns int) {
	t := x.team
	if t == nil {
		return
	}
	for _, v := range t.parts {
		v.dropDead(&t.rest.g)
	}
	if txns < fewTxns {
		return
	}
	n := len(t.parts)
	t.spare = make(chan facts, 4*n)
	told := make([]chan facts, n)
	for i, v := range t.parts {
		feed, tell := make(chan []command, 4), make(chan facts, 2)
		t.feeds = append(t.feeds, feed)
		told[i] = tell
		t.group.Go(func() {
			defer func() { // in a panic those who wait for it must not wait
				close(tell)
				for range feed {
				}
			}()
			for some := range feed {
				v.doAll(some)
				tell <- v.part.facts
				select {
				case v.part.facts = <-t.spare:
				default:
					v.part.facts = facts{}
				}
			}
		})
	}
	feed := make(chan []command, 4)
	t.feeds = append(t.feeds, feed)
	t.group.Go(func() {
		defer func() {
			for range feed {
			}
			for _, tell := range told {
				for range tell {
				}
			}
		}()
		for some := range feed {
			for i := range told {
				t.rest.rest.parts[i] = hearing{facts: <-told[i]}
			}
			t.doRest(some)
			for i := range told {
				t.release(&t.rest.rest.parts[i].facts)
			}
		}
	})
}

// release has facts be used again.
func (t *team) release(f *facts) {
	f.clear()
	select {
	case t.spare <- *f:
	default:
	}
	*f = facts{}
}

// say has all do something; the traces stay as they are until Join.
func (x *Online) say(c command) {
	t := x.team
	if t.feeds != nil && len(t.commands)-t.sent >= manyCommands {
		t.send()
	}
	t.commands = append(t.commands, c)
}

func (t *team) send() {
	some := t.commands[t.sent:len(t.commands):len(t.commands)]
	for _, f := range t.feeds {
		f <- some
	}
	t.sent = len(t.commands)
}

// Cut says that what has become certain by now is one finding, which Join returns with the number of the cut.
func (x *Online) Cut() int {
	x.say(command{what: sayCut})
	x.team.cuts++
	return x.team.cuts - 1
}

// Join waits until all is done, and returns what was found at each cut. It is valid until the next Join.
func (x *Online) Join() []Found {
	t := x.team
	if t == nil {
		return nil
	}
	if t.feeds != nil {
		if t.sent < len(t.commands) {
			t.send()
		}
		for _, f := range t.feeds {
			close(f)
		}
		t.feeds = nil
		t.group.Wait()
	} else if len(t.commands) > 0 {
		for i, v := range t.parts {
			v.doAll(t.commands)
			t.rest.rest.parts[i] = hearing{facts: v.part.facts}
		}
		t.doRest(t.commands)
		for i, v := range t.parts {
			f := &t.rest.rest.parts[i].facts
			f.clear()
			v.part.facts, *f = *f, facts{}
		}
	}
	x.pool = append(x.pool, t.used...)
	clear(t.commands)
	clear(t.used)
	out := t.found
	t.commands, t.used, t.found, t.sent, t.cuts, t.cut = t.commands[:0], t.used[:0], nil, 0, 0, 0
	return out
}

func (v *Verifier) doAll(some []command) {
	for i := range some {
		v.do(&some[i])
	}
}

func (t *team) doRest(some []command) {
	for i := range some {
		if some[i].what != sayCut {
			t.rest.do(&some[i])
			continue
		}
		if vs, us := t.rest.Take(); len(vs)+len(us) > 0 {
			t.found = append(t.found, Found{t.cut, vs, us})
		}
		t.cut++
	}
}

func (v *Verifier) do(c *command) {
	switch c.what {
	case sayBegin:
		v.Dispatch(int(c.lane), []Trace{{Kind: Begin, Bef: c.at, Aft: c.at}})
	case sayDispatch:
		v.Dispatch(int(c.lane), c.traces)
	case sayAdvance:
		v.Advance(c.at)
	case sayLate:
		v.Late(c.traces)
	case sayArrived:
		v.attached.arrived(c.at)
	case sayAttach:
		v.o.Attach = true
	case sayConvict:
		v.convictFirst(uint64(c.at))
	case saySettle:
		v.verify(Forever)
		v.convict()
	}
}
