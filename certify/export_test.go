package certify

// SetBounds sets the bounds that keep proofs small and orders fast, and returns what undoes it.
func SetBounds(blocks, writers, conflicts int) (undo func()) {
	b, w, c := maxBlocks, fewWriters, defaultConflicts
	maxBlocks, fewWriters, defaultConflicts = blocks, writers, conflicts
	return func() { maxBlocks, fewWriters, defaultConflicts = b, w, c }
}

// SetFewUnseen sets up to how many invisible transactions a predicate operation looks at, and returns what undoes it.
func SetFewUnseen(n int) (undo func()) {
	old := fewUnseen
	fewUnseen = n
	return func() { fewUnseen = old }
}

// WalkPasts has nothing remembered of the pasts of transactions with predicates, and returns what undoes it.
func WalkPasts() (undo func()) {
	l, r := mostLone, mostRead
	mostLone, mostRead = -1, -1
	return func() { mostLone, mostRead = l, r }
}
