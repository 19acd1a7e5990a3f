//go:build !checkonly

package cli

import (
	"io"

	"github.com/schollz/progressbar/v3"
)

// newBar is a bar of n steps; -1: nobody knows how many.
func newBar(w io.Writer, n int64) bar {
	return progressbar.NewOptions64(n, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
		progressbar.OptionSetWidth(30),
		progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetRenderBlankState(false))
}
