package workloads

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"isovet/history/operations"
	"isovet/internal/plural"
	"isovet/internal/slice"
)

// transfer is an amount of money that goes from one account to another.
type transfer struct {
	op       int
	from, to string
	amount   int64
}

// bank is Jepsen's bank: each read gives all accounts, no balance is nil or, unless allowed, negative, and the total is
// always the same. Accounts and total come from the settings, else from the first read; accounts that only transfers
// name are added, since some tests delete accounts without money. For a wrong total it looks for the transfers of which
// the read saw one half.
func bank(_ context.Context, j *judge) error {
	accounts, err := accountsOf(j.o.Settings["accounts"])
	if err != nil {
		return err
	}
	slices.Sort(accounts)
	total, fixed := int64(0), j.o.Settings["total"] != ""
	total, _ = strconv.ParseInt(j.o.Settings["total"], 10, 64) // parsed before
	transfers, named, err := j.transfers()
	if err != nil {
		return err
	}
	reads, sums := 0, map[int64]bool{}
	var right []balances
	for i := range j.each("read", operations.OK) {
		reads++
		b, err := j.balances(i)
		if err != nil {
			return err
		}
		if accounts == nil {
			accounts = append(named, b.keys...)
			slices.Sort(accounts)
			accounts = slices.Compact(accounts)
		}
		if !fixed {
			total, fixed = b.total, true
		}
		sums[b.total] = true
		at := []int{i}
		switch k := b.unexpected(accounts); {
		case k != "":
			j.found("unexpected-key", at, "a read shows account %s; expected one of %s", k,
				strings.Join(accounts, ", "))
		case b.none != "":
			j.found("nil-balance", at, "a read gives no balance of account %s", b.none)
		case b.total != total:
			why, halves := "", []int(nil)
			if j.a.Counts["wrong-total"] < j.o.Examples {
				why, halves = j.halfSeen(&b, right, transfers)
			}
			j.found("wrong-total", append(at, halves...), "a read has a total of %d; expected %d%s", b.total, total,
				why)
		case b.negative != "" && !j.set("negative"):
			j.found("negative-value", at, "a read gives account %s a balance of %d", b.negative, b.of[b.negative])
		default:
			right = append(right, b)
		}
	}
	j.stats(Stat{"read-count", reads}, Stat{"error-count", reads - len(right)}, Stat{"total-amount", total})
	if len(sums) > 1 {
		all := slices.Sorted(maps.Keys(sums))
		j.stat("lowest", all[0])
		j.stat("highest", all[len(all)-1])
	}
	if reads == 0 {
		j.unknown("inconclusive: the accounts were never read")
	}
	return nil
}

// accountsOf parses the setting "accounts": a range such as 0-7, or names separated by |.
func accountsOf(text string) (names []string, err error) {
	if text == "" {
		return nil, nil
	}
	if lo, hi, is := strings.Cut(text, "-"); is && !strings.Contains(text, "|") {
		a, err1 := strconv.Atoi(lo)
		if b, err2 := strconv.Atoi(hi); err1 == nil && err2 == nil && a <= b && b-a < 1<<20 {
			for n := a; n <= b; n++ {
				names = append(names, strconv.Itoa(n))
			}
			return names, nil
		}
		return nil, fmt.Errorf("accounts is %q; expected a range as in 0-7, or names as in a|b", text)
	}
	return strings.Split(text, "|"), nil
}

// account returns an account's name as text, for JSON has text where EDN has numbers.
func account(v any) string {
	if s, is := v.(string); is {
		return s
	}
	return operations.Text(v)
}

// transfers returns the transfers that may have taken effect, and the accounts named in any transfer.
func (j *judge) transfers() (all []transfer, named []string, err error) {
	for i, op := range j.each("transfer") {
		m, _ := op.In.(operations.Map)
		n, ok := m.Get("amount").(int64)
		if !ok || m.Get("from") == nil || m.Get("to") == nil {
			at := *op
			at.Lines = 0
			return nil, nil, j.bad(&at, "value", op.In, "a transfer such as {:from 0, :to 1, :amount 5}")
		}
		t := transfer{i, account(m.Get("from")), account(m.Get("to")), n}
		named = append(named, t.from, t.to)
		if op.Status != operations.Failed {
			all = append(all, t)
		}
	}
	return all, named, nil
}

// balances is the result of a read: a balance for each account.
type balances struct {
	op             int
	keys           []string
	of             map[string]int64
	total          int64
	none, negative string // an account without balance, and one below zero
}

func (j *judge) balances(i int) (b balances, err error) {
	op := &j.h.Ops[i]
	b = balances{op: i, of: map[string]int64{}, keys: []string{}}
	m, ok := op.Out.(operations.Map)
	if !ok && op.Out != nil {
		return b, j.bad(op, "value", op.Out, "a map of accounts and balances")
	}
	for _, p := range m {
		k := account(p.Key)
		b.keys = append(b.keys, k)
		n, ok := p.Value.(int64)
		switch {
		case p.Value == nil:
			b.none = k
		case !ok:
			return b, j.bad(op, "value", p.Value, "an integer, the balance of account "+k)
		case n < 0:
			b.negative = k
		}
		b.of[k] = n
		if b.total += n; (b.total < n) != (b.total-n < 0) {
			return b, j.bad(op, "value", op.Out, "balances whose sum is a 64-bit integer")
		}
	}
	slices.Sort(b.keys)
	return b, nil
}

// unexpected returns an account of the read that is not among the known ones, which are sorted, or "".
func (b *balances) unexpected(accounts []string) string {
	for _, k := range b.keys {
		if _, is := slices.BinarySearch(accounts, k); !is {
			return k
		}
	}
	return ""
}

// maxSubsets bounds the sets of transfers tried for a half of one transfer, and maxTried the sets tried for one read.
const maxSubsets, maxTried = 200_000, 500_000

// halfSeen explains a wrong total: it looks for a transfer of which the read saw one half, besides the result of the
// last correct read before it and some of the transfers since.
func (j *judge) halfSeen(b *balances, right []balances, transfers []transfer) (why string, ops []int) {
	read := &j.h.Ops[b.op]
	var base *balances
	for i := range right {
		if r := &right[i]; j.h.Ops[r.op].Return < read.Call &&
			(base == nil || j.h.Ops[base.op].Return < j.h.Ops[r.op].Return) {
			base = r
		}
	}
	if base == nil {
		return "", nil
	}
	window := slice.Filter(transfers, func(t transfer) bool {
		op := &j.h.Ops[t.op]
		return op.Return >= j.h.Ops[base.op].Call && op.Call <= read.Return
	})
	delta := map[string]int64{}
	for k, n := range b.of {
		delta[k] += n
	}
	for k, n := range base.of {
		delta[k] -= n
	}
	x, tried := subsets{window: window, last: map[string]int{}}, 0
	for i, t := range window {
		x.last[t.from], x.last[t.to] = i, i
	}
	for i, t := range window {
		for _, half := range []struct {
			account   string
			by        int64
			saw, saw2 string
		}{{t.from, -t.amount, "the debit", "the credit"}, {t.to, t.amount, "the credit", "the debit"}} {
			if half.by != b.total-base.total || tried > maxTried {
				continue
			}
			x.without, x.steps = i, 0
			delta[half.account] -= half.by
			whole, ok := x.find(0, delta)
			delta[half.account] += half.by
			if tried += x.steps; ok {
				with := ""
				if len(whole) > 0 {
					with = ", and all of " + plural.Phrase(len(whole), "other transfer", "other transfers") +
						" since the read of line " + strconv.Itoa(j.h.Ops[base.op].Line)
				}
				return fmt.Sprintf(": it saw %s but not %s of the transfer in line %d, %d from %s to %s%s", half.saw,
					half.saw2, j.h.Ops[t.op].Line, t.amount, t.from, t.to, with), []int{t.op, base.op}
			}
		}
	}
	return "", nil
}

// subsets is a search for transfers that make up a difference.
type subsets struct {
	window  []transfer
	last    map[string]int // account → its last transfer
	without int
	steps   int
}

// find returns some of the transfers from i on that together make up what is left.
func (x *subsets) find(i int, left map[string]int64) (some []int, ok bool) {
	if x.steps++; x.steps > maxSubsets {
		return nil, false
	}
	if i == len(x.window) {
		for _, n := range left {
			if n != 0 {
				return nil, false
			}
		}
		return nil, true
	}
	t := x.window[i]
	settled := func() bool { // all accounts that no later transfer touches are right
		return (x.last[t.from] > i || left[t.from] == 0) && (x.last[t.to] > i || left[t.to] == 0)
	}
	if settled() {
		if some, ok = x.find(i+1, left); ok {
			return some, true
		}
	}
	if i == x.without {
		return nil, false
	}
	left[t.from] += t.amount
	left[t.to] -= t.amount
	if settled() {
		some, ok = x.find(i+1, left)
	}
	left[t.from] -= t.amount
	left[t.to] += t.amount
	if ok {
		some = append(some, t.op)
	}
	return some, ok
}
