//go:build !checkonly && !offline

package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

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
	fl.StringVar(&f.shard, "shard", "", "aion, leopard: judge one part of the keys and sessions, `I/N`, such as 2/4; N "+
		"processes that read one stream, each with a folder of its own, judge all of them")
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
	case checker == "leopard" && d.Of > 1 && d.Shards > 1:
		return d, usagef("--shards %d with --shard: a leopard that judges one part of the keys is one goroutine; "+
			"expected one of the two", d.Shards)
	}
	return d, nil
}

func newWatchMerge(e *env) *cobra.Command {
	var o merging
	c := &cobra.Command{
		Use:   "merge [flags] FOLDER...",
		Short: "Say what several processes have found that judge one stream",
		Long: `merge reads the folders of isovet watch --shard 1/N to N/N, which may go on meanwhile, and writes their final
violations, each once, as one process would have found them: by the ids of their transactions, and numbered anew. It
says on standard error to how many incidents they come, up to which watermark nothing is to come any more, the least of
those of their latest checkpoints, which parts are missing, and what was deleted (--violations-max).

What spans keys (of leopard: cycles, reads of one snapshot that no moment explains, transactions that were not seen
whole, some lost updates) no process knows; each writes down what it knows of it, and merge finds it, as far as the
latest checkpoints of all of them go. It needs all parts, which must have read the stream in one order; what keeps it
from that is said.

With -o FOLDER the violations are written to FOLDER/violations.jsonl, not to standard output, with the incidents of all,
FOLDER/incidents.jsonl, and their small histories and certificates, FOLDER/evidence, as isovet watch alone has them;
FOLDER/merged.json says what they are made of. A merge into the folder of one before goes on where that ended, and the
processes delete what it has taken of what they wrote down of what spans keys. So merge into one folder alone, before
what that needs of the lines is deleted (--keep); --follow does so whenever there is something new.

Exit status: 0 nothing was found; 1 there were violations (leopard: proved ones); 2 leopard: others, or nothing was
found, and parts are missing, or what spans keys is not all known; 254 folders that are not of one stream.`,
		Example: `  isovet watch merge w1 w2 w3 w4
  isovet watch merge -o merged --follow w1 w2 w3 w4`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, dirs []string) (err error) {
			o.dirs = dirs
			if o.follow {
				return o.forever(c.Context(), e)
			}
			m, err := o.once()
			if err != nil {
				return err
			}
			if err := o.say(e, m); err != nil {
				return err
			}
			return mergeStatus(m)
		},
	}
	c.Flags().StringVarP(&o.out, "output", "o", "", "`FOLDER` to write the violations, incidents and evidence of all to")
	c.Flags().BoolVar(&o.follow, "follow", false, "with -o: merge again whenever there is something new, until ended")
	c.Flags().DurationVar(&o.every, "every", 10*time.Second, "with --follow: how often to look")
	return c
}

// merging is what a merge is asked to do.
type merging struct {
	dirs   []string
	out    string
	follow bool
	every  time.Duration
}

func (o *merging) once() (m *watch.Merged, err error) {
	if o.out == "" {
		m, err = watch.Merge(o.dirs)
	} else {
		m, err = watch.MergeInto(o.dirs, o.out)
	}
	return m, mergeError(err)
}

// mergeError has folders that are not of one stream be bad input.
func mergeError(err error) error {
	var foreign *watch.MergeError
	if errors.As(err, &foreign) {
		return usagef("%v", err)
	}
	return err
}

// forever merges again and again.
func (o *merging) forever(ctx context.Context, e *env) error {
	if o.out == "" || o.every <= 0 {
		return usagef("--follow with -o %q and --every %v; expected a folder, and a positive time", o.out, o.every)
	}
	var last *watch.Merged
	said := ""
	err := watch.FollowMerge(ctx, o.dirs, o.out, o.every, func(m *watch.Merged, err error) error {
		if err != nil {
			fmt.Fprintf(e.stderr, "isovet: %v; it is tried again\n", err)
			return nil
		}
		last = m
		if is := fmt.Sprint(len(m.Violations), m.Missing, m.Unspanned); is != said {
			said = is
			return o.say(e, m)
		}
		return nil
	})
	if err != nil || last == nil {
		return mergeError(err)
	}
	return mergeStatus(last)
}

// say says what was found.
func (o *merging) say(e *env, m *watch.Merged) error {
	for _, line := range m.Violations {
		if o.out != "" {
			break
		}
		if _, err := fmt.Fprintf(e.stdout, "%s\n", line); err != nil {
			return err
		}
	}
	for _, dir := range o.dirs {
		if n := m.Gone[dir]; n > 0 {
			fmt.Fprintf(e.stderr, "isovet: %s: the first %d violations are not kept any more\n", dir, n)
		}
	}
	if len(m.Missing) > 0 {
		fmt.Fprintf(e.stderr, "isovet: of %d parts these are missing: %v\n", m.Of, m.Missing)
	}
	if m.Unspanned != "" {
		fmt.Fprintf(e.stderr, "isovet: what spans keys is not all known: %s\n", m.Unspanned)
	}
	if m.Known {
		fmt.Fprintf(e.stderr, "isovet: %d violations; all are final up to %d, the watermark of %s\n",
			len(m.Violations), m.Watermark, m.Slowest)
	} else {
		fmt.Fprintf(e.stderr, "isovet: %d violations; not all folders have a checkpoint, which would say how "+
			"far they have got\n", len(m.Violations))
	}
	if n := len(m.Incidents); n > 0 && o.out != "" {
		fmt.Fprintf(e.stderr, "isovet: incidents %d: %s\n", n, report.Quoted(filepath.Join(o.out,
			"incidents.jsonl")))
	} else if n > 0 {
		fmt.Fprintf(e.stderr, "isovet: incidents %d; -o FOLDER writes them, and their evidence\n", n)
	}
	return nil
}

func mergeStatus(m *watch.Merged) error {
	switch {
	case m.Proved:
		return status(statusViolation)
	case len(m.Violations) > 0 || len(m.Missing) > 0 || m.Unspanned != "":
		return status(statusUnknown)
	}
	return nil
}
