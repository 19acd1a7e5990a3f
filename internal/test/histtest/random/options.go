package random

// Options bound a random history. The zero value is up to 5 transactions of up to 4 operations in up to 3 sessions on
// up to 2 keys, with client times, unique values and nothing unusual.
type Options struct {
	Txns, Keys, Sessions, Ops int // at most; 0: the default

	Duplicates bool // the same value may be written twice to a key
	Deletes    bool // writes of null
	Aborted    bool // aborted transactions; their values may be read
	Unknown    bool // transactions of unknown outcome, without end
	NoTimes    bool
	// Mini: mini-transactions of up to two keys, every write after a read of its key. Single: each transaction reads
	// one key, writes it, or does both; writes without a read are left out with Mini. Both without predicates.
	Mini, Single bool
	// Predicates: some operations are predicate reads and writes; values are integers, or rows with columns v and w of
	// few values, at times missing or null, and u, which makes them unique unless there are duplicates.
	Predicates bool
	// Lists: keys are append-only lists, their elements unique unless there are duplicates. Deletes and Predicates mean
	// nothing then.
	Lists bool
}

func (o Options) or(txns, keys, sessions, ops int) Options {
	for _, x := range []struct {
		field *int
		or    int
	}{{&o.Txns, txns}, {&o.Keys, keys}, {&o.Sessions, sessions}, {&o.Ops, ops}} {
		if *x.field <= 0 {
			*x.field = x.or
		}
	}
	return o
}
