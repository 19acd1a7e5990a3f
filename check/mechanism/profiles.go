package mechanism

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// profilesJSON has the built-in profiles, one a line, in the form of a user's own. Notes on them:
//
//   - PostgreSQL takes the snapshot with the first statement, not with BEGIN (L3); that statement need not be one of
//     the history's.
//   - InnoDB's read view is made by the first consistent read. Its SERIALIZABLE reads what is committed now, under
//     locks (L4).
//   - From galera on they are not in the paper; "store" is the store in memory of package datasets/store.
//
//go:embed profiles.jsonl
var profilesJSON string

// Profiles returns the built-in profiles: the eighteen systems of Leopard's Table I, read as errata L5 does, and others
// that isovet collects histories from. Each call returns a copy.
func Profiles() []Profile { return slices.Clone(builtIn()) }

// builtIn returns the built-in profiles, read once.
var builtIn = sync.OnceValue(func() []Profile {
	var all []Profile
	for line := range strings.Lines(profilesJSON) {
		var p Profile
		if err := json.Unmarshal([]byte(line), &p); err != nil {
			panic(fmt.Sprintf("profiles.jsonl:%d: %v", len(all)+1, err))
		}
		all = append(all, p)
	}
	return all
})
