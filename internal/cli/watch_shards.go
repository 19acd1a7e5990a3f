//go:build !checkonly && !offline

package cli

import (
	"github.com/spf13/pflag"

	"isovet/watch"
)

// divisionFlags say among how many the work is divided.
type divisionFlags struct {
	shards int
}

// minShardMemory is what the store of one shard's keys takes.
const minShardMemory = 4 << 20

func (f *divisionFlags) add(fl *pflag.FlagSet) {
	fl.IntVar(&f.shards, "shards", 1, "aion: among how many goroutines the keys are divided; a folder keeps to it")
}

// options are those of a checker.
func (f *divisionFlags) options(checker string) (d watch.Division, err error) {
	if f.shards < 1 || f.shards > watch.MaxShards {
		return d, usagef("--shards %d; expected 1 to %d", f.shards, watch.MaxShards)
	}
	d.Shards = f.shards
	if checker != "aion" && d.Shards > 1 {
		return d, usagef("--shards is the checker aion's; %s looks at what a transaction has read "+
			"together, whatever the keys, and is not divided", checker)
	}
	return d, nil
}
