package cli

import (
	"context"
	"io"
	"os"

	"isovet/history"
	"isovet/history/format/jsonl"
)

func readHistory(ctx context.Context, e *env, path, format string) (*history.History, error) {
	if path == "-" {
		return jsonl.ReadFrom(ctx, e.stdin, "standard input")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return jsonl.ReadParallel(ctx, b, path, 2)
}

func formatNames() []string { return []string{auto, "jsonl"} }

func writeHistory(w io.Writer, h *history.History, format string) error { return jsonl.Write(w, h) }
