package certify

// SetBounds sets the bounds that keep proofs small and orders fast, and returns what undoes it.
func SetBounds(blocks, grids, writers, conflicts int) (undo func()) {
	b, g, w, c := maxBlocks, maxGrids, fewWriters, defaultConflicts
	maxBlocks, maxGrids, fewWriters, defaultConflicts = blocks, grids, writers, conflicts
	return func() { maxBlocks, maxGrids, fewWriters, defaultConflicts = b, g, w, c }
}
