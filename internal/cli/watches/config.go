package watches

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"isovet/internal/cli/console"
)

// Configure sets flags from a YAML file unless the command line sets them. The file maps the flags' names to single
// values.
func Configure(c *cobra.Command, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return console.Usagef("%s: %v", path, err)
	}
	if len(doc.Content) == 0 {
		return nil // only comments
	}
	at := func(n *yaml.Node, format string, args ...any) error {
		return console.Usagef("%s, line %d: %s", path, n.Line, fmt.Sprintf(format, args...))
	}
	top := doc.Content[0]
	if top.Kind != yaml.MappingNode {
		return at(top, "expected names of flags with their values, such as state: /var/lib/isovet")
	}
	fl := c.Flags()
	given := map[string]bool{}
	fl.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	seen := map[string]int{}
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		name := key.Value
		switch {
		case name == "config" || name == "help" || fl.Lookup(name) == nil || key.Kind != yaml.ScalarNode:
			var names []string
			fl.VisitAll(func(f *pflag.Flag) {
				if f.Name != "config" && f.Name != "help" {
					names = append(names, f.Name)
				}
			})
			return at(key, "unknown key %q; expected one of %s", name, strings.Join(names, ", "))
		case seen[name] > 0:
			return at(key, "%s is already set in line %d", name, seen[name])
		case value.Kind != yaml.ScalarNode || value.Tag == "!!null":
			return at(value, "%s: expected one value, as for --%s", name, name)
		}
		seen[name] = key.Line
		if given[name] {
			continue
		}
		if err := fl.Set(name, value.Value); err != nil {
			return at(value, "%v", err)
		}
	}
	return nil
}
