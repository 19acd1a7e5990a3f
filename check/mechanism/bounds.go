package mechanism

import "isovet/internal/bounds"

// Tests set them to 1.
func init() {
	bounds.Register("mechanism.maxSuspects", &maxSuspects)
}
