//go:build !checkonly && !offline

package cli

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/report"
	"isovet/watch"
)

// divisionFlags say among how many the work is divided.
type divisionFlags struct {
	shards int
	shard  string
}

// minShardMemory is what the store of one shard's keys takes.
const minShardMemory = 4 << 20

func (f *divisionFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.shards, "shards", 1, "aion, leopard: among how many goroutines the keys are divided; a folder "+
		"keeps to it")
	fl.StringVar(&f.shard, "shard", "", "aion: judge one part of the keys and sessions, `I/N`, such as 2/4; N processes "+
		"that read one stream, each with a folder of its own, judge all of them")
}

// options are those of a checker.
func (f *divisionFlags) options(checker string) (d watch.Division, err error) {
	if f.shards < 1 || f.shards > watch.MaxShards {
		return d, usagef("--shards %d; expected 1 to %d", f.shards, watch.MaxShards)
	}
	d.Shards = f.shards
	if f.shard != "" {
		var rest string
		n, _ := fmt.Sscanf(f.shard+"|", "%d/%d%s", &d.Shard, &d.Of, &rest)
		if n != 3 || rest != "|" || d.Shard < 1 || d.Shard > d.Of || d.Of > watch.MaxShards {
			return d, usagef("--shard %s; expected I/N, such as 2/4: one of 1 to N, and N up to %d", f.shard,
				watch.MaxShards)
		}
		d.Shard--
	}
	switch {
	case checker == "replay" && (d.Shards > 1 || d.Of > 1):
		return d, usagef("--shards and --shard are aion's and leopard's; replay looks for one order of all " +
			"transactions, whatever the keys, and is not divided")
	case checker == "leopard" && d.Of > 1:
		return d, usagef("--shard is the checker aion's; leopard's reads of one snapshot, and cycles, span keys, so " +
			"that one process must hear of all keys; --shards N divides its work among goroutines")
	}
	return d, nil
}

func newWatchMerge(e *env) *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "merge [flags] FOLDER...",
		Short: "Say what several processes have found that judge one stream",
		Long: `merge reads the folders of isovet watch --shard 1/N to N/N, which may go on meanwhile, and writes their final
violations, each once, as one process would have found them: by the ids of their transactions, and numbered anew. It
says on standard error to how many incidents they come, up to which watermark nothing is to come any more, the least of
those of their latest checkpoints, which parts are missing, and what was deleted (--violations-max).

With -o FOLDER the violations are written to FOLDER/violations.jsonl, not to standard output, with the incidents of all,
FOLDER/incidents.jsonl, and their small histories and certificates, FOLDER/evidence, as isovet watch alone has them;
FOLDER/merged.json says what they are made of. A folder of a merge before is made anew.

Exit status: 0 nothing was found; 1 there were violations; 2 nothing was found, and parts are missing; 254 folders that
are not of one stream.`,
		Example: `  isovet watch merge w1 w2 w3 w4
  isovet watch merge -o merged w1 w2 w3 w4`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, dirs []string) error {
			m, err := watch.Merge(dirs)
			if err == nil && out != "" {
				err = m.Write(out)
			}
			var foreign *watch.MergeError
			if errors.As(err, &foreign) {
				return usagef("%v", err)
			}
			if err != nil {
				return err
			}
			for _, line := range m.Violations {
				if out != "" {
					break
				}
				if _, err := fmt.Fprintf(e.stdout, "%s\n", line); err != nil {
					return err
				}
			}
			for _, dir := range dirs {
				if n := m.Gone[dir]; n > 0 {
					fmt.Fprintf(e.stderr, "isovet: %s: the first %d violations are not kept any more\n", dir, n)
				}
			}
			if len(m.Missing) > 0 {
				fmt.Fprintf(e.stderr, "isovet: of %d parts these are missing: %v\n", m.Of, m.Missing)
			}
			if m.Known {
				fmt.Fprintf(e.stderr, "isovet: %d violations; all are final up to %d, the watermark of %s\n",
					len(m.Violations), m.Watermark, m.Slowest)
			} else {
				fmt.Fprintf(e.stderr, "isovet: %d violations; not all folders have a checkpoint, which would say how "+
					"far they have got\n", len(m.Violations))
			}
			if n := len(m.Incidents); n > 0 && out != "" {
				fmt.Fprintf(e.stderr, "isovet: incidents %d: %s\n", n, report.Quoted(filepath.Join(out,
					"incidents.jsonl")))
			} else if n > 0 {
				fmt.Fprintf(e.stderr, "isovet: incidents %d; -o FOLDER writes them, and their evidence\n", n)
			}
			switch {
			case len(m.Violations) > 0:
				return status(statusViolation)
			case len(m.Missing) > 0:
				return status(statusUnknown)
			}
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "`FOLDER` to write the violations, incidents and evidence of all to")
	return c
}
