package polygraph

import "isovet/internal/bounds"

// Tests set them to 1.
func init() {
	bounds.Register("polygraph.maxNarrow", &maxNarrow)
}
