package workload

import "math/rand/v2"

func newSmallBank(p Params) (Workload, error) {
	w := &smallBank{customers: p.Keys, equal: p.Variant != "default"}
	switch p.Variant {
	case "read-only":
		w.balance = ReadOnly
	case "deferrable":
		w.balance = Deferrable
	}
	return w, needKeys(p, 2)
}

const (
	savings = iota
	checking
)

type smallBank struct {
	customers int
	equal     bool
	balance   Access // how Balance is begun
}

func (w *smallBank) Tables() []Table {
	return []Table{{Name: "savings", Rows: w.customers, Payload: 10000}, {Name: "checking", Rows: w.customers,
		Payload: 10000}}
}

func (w *smallBank) Client(_ int, rng *rand.Rand) Client { return &smallBankClient{w: w, rng: rng} }

type smallBankClient struct {
	w   *smallBank
	rng *rand.Rand
	set distinct
}

var smallBankTemplates = [...]string{"Balance", "DepositChecking", "TransactSavings", "Amalgamate", "SendPayment",
	"WriteCheck"}

// Next draws the template, two customers and an amount.
func (c *smallBankClient) Next(t *Txn) {
	i := c.rng.IntN(20) / 3 // 15 % each, the rest to the last
	if c.w.equal {
		i = c.rng.IntN(len(smallBankTemplates))
	}
	t.Name = smallBankTemplates[min(i, len(smallBankTemplates)-1)]
	if t.Access = ReadWrite; t.Name == "Balance" {
		t.Access = c.w.balance
	}
	t.Args = c.set.draw(t.Args[:0], 2, Uniform(c.w.customers), c.rng)
	t.Args = append(t.Args, 1+c.rng.Int64N(100))
}

// Step reads in its first stage, and writes the results in its second.
func (c *smallBankClient) Step(t *Txn) {
	sav1, chk1, chk2 := MakeKey(savings, t.Args[0]), MakeKey(checking, t.Args[0]), MakeKey(checking, t.Args[1])
	v := t.Args[2]
	if t.Stage == 0 {
		switch t.Name {
		case "Balance", "WriteCheck":
			t.Read(sav1)
			t.Read(chk1)
		case "DepositChecking":
			t.Read(chk1)
		case "TransactSavings":
			t.Read(sav1)
		case "Amalgamate":
			t.Read(sav1)
			t.Read(chk1)
			t.Read(chk2)
		case "SendPayment":
			t.Read(chk1)
			t.Read(chk2)
		}
		return
	}
	if t.Stage > 1 {
		return
	}
	switch t.Name {
	case "DepositChecking":
		t.Write(chk1, t.Ops[0].Payload+v)
	case "TransactSavings":
		t.Write(sav1, t.Ops[0].Payload+v)
	case "Amalgamate":
		sum := t.Ops[0].Payload + t.Ops[1].Payload
		to := t.Ops[2].Payload
		t.Write(sav1, 0)
		t.Write(chk1, 0)
		t.Write(chk2, to+sum)
	case "SendPayment":
		from, to := t.Ops[0].Payload, t.Ops[1].Payload
		if from >= v {
			t.Write(chk1, from-v)
			t.Write(chk2, to+v)
		}
	case "WriteCheck":
		if t.Ops[0].Payload+t.Ops[1].Payload < v {
			v++ // the penalty for an overdraft
		}
		t.Write(chk1, t.Ops[1].Payload-v)
	}
}
