package certify

// SetBounds sets the bounds that keep proofs small and orders fast, and returns what undoes it.
func SetBounds(blocks, grids, writers, conflicts int) (undo func()) {
	b, g, w, c := maxBlocks, maxColumns, fewWriters, defaultConflicts
	maxBlocks, maxColumns, fewWriters, defaultConflicts = blocks, grids, writers, conflicts
	return func() { maxBlocks, maxColumns, fewWriters, defaultConflicts = b, g, w, c }
}

// SetFewUnseen sets up to how many invisible transactions a predicate operation looks at, and returns what undoes it.
func SetFewUnseen(n int) (undo func()) {
	old := fewUnseen
	fewUnseen = n
	return func() { fewUnseen = old }
}
