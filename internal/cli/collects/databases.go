package collects

import (
	"strings"

	"github.com/spf13/cobra"

	"isovet/collect/driver"
	"isovet/collect/server"
	"isovet/internal/cli/console"
	"isovet/internal/slice"
)

// databaseItem is a database that --db accepts.
type databaseItem struct {
	DB         string   `json:"db"`
	About      string   `json:"about"`
	Isolations []string `json:"isolations,omitempty"` // names of one level are joined by "="
}

// NewDatabases returns the command databases: the values of --db and --isolation.
func NewDatabases(e *console.Env) *cobra.Command {
	var asJSON bool
	c := console.Command("databases", console.Exactly(), func(*cobra.Command, []string) error {
		all := slice.Map(driver.All(), func(d driver.Scheme) databaseItem {
			return databaseItem{d.URLs[0] + ":", d.About, d.Isolations}
		})
		for _, s := range server.All() {
			name, about, _ := strings.Cut(s.About, " (")
			all = append(all, databaseItem{name, strings.TrimSuffix("a server to start: "+about, ")"), nil})
		}
		rows := make([][]string, len(all))
		for i := range all {
			if asJSON {
				if err := console.JSONLine(e.Stdout, &all[i]); err != nil {
					return err
				}
			}
			rows[i] = []string{all[i].DB, strings.TrimSpace(all[i].About), strings.Join(all[i].Isolations, ", ")}
		}
		if asJSON {
			return nil
		}
		return console.Table(e.Stdout, []string{"--db", "what it is", "--isolation"}, rows)
	})
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object on each line")
	return c
}
