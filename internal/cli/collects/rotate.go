package collects

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"isovet/collect"
	"isovet/internal/cli/console"
	"isovet/internal/cli/watches"
	"isovet/internal/cli/workloads"
	"isovet/internal/guard"
)

// RotateValue is the --rotate flag: when a part of a recording ends.
type RotateValue struct{ to *collect.Rotate }

func (v RotateValue) String() string {
	o := v.to
	if o == nil {
		return ""
	}
	var all []string
	if o.Bytes > 0 {
		all = append(all, guard.BytesText(o.Bytes))
	}
	if o.Every > 0 {
		all = append(all, o.Every.String())
	}
	if o.Txns > 0 {
		all = append(all, fmt.Sprintf("%dtxns", o.Txns))
	}
	return strings.Join(all, ",")
}

func (RotateValue) Type() string { return "WHEN" }

func (v RotateValue) Set(s string) error {
	var o collect.Rotate
	for one := range strings.SplitSeq(s, ",") {
		one = strings.TrimSpace(one)
		wrong := fmt.Errorf("%q; expected a size such as 256MiB, a duration such as 10m, a number of transactions "+
			"such as 1000000txns, or several of these with commas", one)
		if number, is := strings.CutSuffix(one, "txns"); is {
			n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
			if err != nil || n < 1 || o.Txns > 0 {
				return wrong
			}
			o.Txns = n
			continue
		}
		if d, err := time.ParseDuration(one); err == nil && !watches.Bare.MatchString(one) {
			if d < time.Millisecond || o.Every > 0 {
				return wrong
			}
			o.Every = d
			continue
		}
		var n int64
		if err := (console.Size(&n)).Set(one); err != nil || n < 4096 || o.Bytes > 0 || watches.Bare.MatchString(one) {
			return wrong
		}
		o.Bytes = n
	}
	*v.to = o
	return nil
}

// rotating checks the output of a recording in parts before the run: its folder must be empty.
func rotating(o *collect.Rotate, out, to string) error {
	var err error
	o.Dir = out
	if o.Ending, err = workloads.ShardEnding(to); err != nil {
		return err
	}
	st, err := os.Stat(out)
	if err != nil {
		return nil // it will be made, or that fails
	}
	if !st.IsDir() {
		return console.Usagef("-o %s is a file; --rotate writes the parts of a folder", out)
	}
	entries, err := os.ReadDir(out)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s: the folder has files, such as %s; expected a new or empty one", out, entries[0].Name())
	}
	return err
}
