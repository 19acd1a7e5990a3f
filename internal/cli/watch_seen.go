//go:build !checkonly && !offline

package cli

import (
	"io"
	"log/slog"
)

// logFormats are those of what watch says to its operator.
var logFormats = []string{"text", "json"}

func newLog(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
