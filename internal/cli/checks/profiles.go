package checks

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"isovet/check/mechanism"
	"isovet/internal/cli/console"
	"isovet/internal/slice"
)

// NewProfiles returns the command that lists the values of --profile.
func NewProfiles(e *console.Env) *cobra.Command {
	var asJSON bool
	c := console.Command("profiles", console.Exactly(), func(*cobra.Command, []string) error {
		all := mechanism.Profiles()
		if asJSON {
			return console.JSONLines(e.Stdout, all)
		}
		rows := make([][]string, len(all))
		for i, p := range slice.Refs(all) {
			reads := string(p.Reads)
			if p.Snapshot != "" {
				reads += ", " + string(p.Snapshot)
			}
			if p.StaleReads {
				reads += ", stale"
			}
			locks := "none"
			if p.ReadLocks {
				locks = "reads, writes"
			} else if p.WriteLocks {
				locks = "writes"
			}
			first := "no"
			if p.FirstUpdaterWins {
				first = "yes"
			}
			rows[i] = []string{p.Name(), strings.Join(p.Systems, " "), reads, locks, first, string(p.Certifier),
				p.Level.String(), p.Note}
		}
		return console.Table(e.Stdout, []string{"profile", "also", "reads of", "locks", "first updater wins",
			"certifier", "promises", "note"}, rows)
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on each line")
	return c
}

// ProfileNames returns the completions of --profile.
func ProfileNames() []string {
	names := []string{console.Auto}
	for _, p := range mechanism.Profiles() {
		names = append(names, p.Name())
		names = append(names, slice.Map(p.Systems, func(s string) string { return s + ":" + p.Isolation })...)
	}
	slices.Sort(names[1:])
	return names
}

// LoadProfile returns the profile that --profile names, from a file or a built-in one, or nil for auto.
func LoadProfile(name string) (*mechanism.Profile, error) {
	if name == "" || name == console.Auto {
		return nil, nil
	}
	f, err := os.Open(name)
	if err != nil {
		if strings.HasSuffix(name, ".json") {
			return nil, console.Exit(console.StatusBadInput, fmt.Errorf("--profile: %w", err))
		}
		p, err := mechanism.LookupProfile(name)
		if err != nil {
			return nil, console.Usagef("--profile: %v", err)
		}
		return p, nil
	}
	defer f.Close()
	p, err := mechanism.ReadProfile(f)
	if err != nil {
		return nil, console.Exit(console.StatusBadInput, fmt.Errorf("--profile %s: %w", name, err))
	}
	return p, nil
}
