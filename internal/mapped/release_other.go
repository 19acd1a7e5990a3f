//go:build !unix

package mapped

// ReleasePart has nothing to give back: nothing is mapped.
func ReleasePart([]byte) {}

// release has nothing to give back: nothing is mapped.
func release([]byte) {}
