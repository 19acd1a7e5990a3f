package explain

import "isovet/internal/bounds"

// Tests set them to 1.
func init() {
	bounds.Register("explain.maxSearch", &maxSearch)
}
