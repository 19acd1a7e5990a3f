package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"isovet/history/format"
)

func newConvert(e *env) *cobra.Command {
	var from loading
	to, lossy := auto, false
	c := &cobra.Command{
		Use: "convert [flags] IN OUT", GroupID: "work",
		Short: "Convert a history between formats",
		Long: `convert reads a history in one format and writes it in another. If the other format cannot hold something, convert
fails and names it; --lossy drops it. "-" is standard input or output. The ending of OUT gives its format; .gz and .zst
at its end compress it. Standard output, and a file without an ending, get JSON lines. For any other ending --to must
name the format.

Related: isovet formats lists the formats and which of them can be written.`,
		Example: `  isovet convert h.jsonl.zst h.jsonl
  isovet convert - h.jsonl.gz < h.jsonl
  isovet convert --lossy h.jsonl history.bincode`,
		Args:              exactly("IN", "OUT"),
		ValidArgsFunction: historyFiles,
		RunE: func(c *cobra.Command, args []string) error {
			return runConvert(c.Context(), e, args[0], args[1], from, to, lossy)
		},
	}
	from.flags(c, "from", "IN")
	enumFlag(c, &to, "to", "format", "format of OUT", formatNames())
	c.Flags().BoolVar(&lossy, "lossy", false, "drop what the format of OUT cannot hold, and renumber keys and "+
		"values where it must")
	return c
}

// writable says before any work whether a file can be written; flag is the one that names its format.
func writable(out, to, flag string) error {
	err := format.Writable(out, to)
	if errors.Is(err, format.ErrEnding) && flag != "" {
		return fmt.Errorf("%w; or %s FORMAT", err, flag)
	}
	return err
}

func runConvert(ctx context.Context, e *env, in, out string, from loading, to string, lossy bool) error {
	if err := writable(out, to, "--to"); err != nil {
		return err
	}
	_, err := guard(ctx, limits{}, func() string { return "converting " + in }, func(ctx context.Context) (struct{},
		error) {
		h, err := loadHistory(ctx, in, from)
		if err != nil {
			return struct{}{}, err
		}
		e.sayNotes(in, h)
		return struct{}{}, format.WriteContext(ctx, out, h, to, lossy)
	})
	return orInterrupted(err, "converting "+in+"; nothing was written")
}
