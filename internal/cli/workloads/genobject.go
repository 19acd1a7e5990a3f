package workloads

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"isovet/datasets/objects"
	"isovet/internal/cli/console"
)

// objectTakes are the flags that are allowed with workloads of objects.
var objectTakes = map[string]bool{"workload": true, "variant": true, "txns": true, "sessions": true, "seed": true,
	"unknown-rate": true, "out": true, "json": true, "quiet": true}

// runGenObject writes the operations on an object, in EDN: --txns of them by --sessions clients. The variant faulty has
// a fault.
func runGenObject(c *cobra.Command, e *console.Env, g *GenFlags, o genOut) error {
	var other error
	c.Flags().Visit(func(f *pflag.Flag) {
		if !objectTakes[f.Name] {
			other = console.Usagef("--workload %s and --%s: the object decides that; leave it out", g.Spec.Workload,
				f.Name)
		}
	})
	if other != nil {
		return other
	}
	s := objects.Spec{Workload: g.Spec.Workload, Ops: g.Spec.Txns, Clients: g.Spec.Sessions, Seed: g.Spec.Seed,
		Unknown: g.Spec.UnknownRate, Faulty: g.Spec.Variant == "faulty"}
	if v := g.Spec.Variant; v != "" && v != "default" && v != "faulty" {
		return console.Usagef("--variant %q of %s is unknown; expected default or faulty", v, s.Workload)
	}
	text, broke := objects.Generate(s)
	if s.Faulty && broke == 0 {
		return console.Usagef("--txns %d of %s: too few operations for its fault; expected more", s.Ops, s.Workload)
	}
	if err := e.WriteText(o.file, text); err != nil {
		return err
	}
	note := "no fault"
	if broke > 0 {
		note = fmt.Sprintf("the answer to line %d is the fault", broke)
	}
	return o.say(e, genSummary{File: o.file, Name: s.Workload, Workload: s.Workload, Note: note, Ops: s.Ops,
		Sessions: s.Clients, Seed: s.Seed})
}
