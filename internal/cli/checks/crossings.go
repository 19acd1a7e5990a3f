package checks

import "isovet/internal/cli/console"

// leopards has the flags that only the checker leopard has.
var leopards = console.Crossing{Flag: "profile mechanisms-only", With: "checker!=leopard",
	Say: "only checker leopard takes --profile and --mechanisms-only; add --checker leopard"}

// Crossings lists the flags that exclude each other.
var Crossings = console.Crossings{
	"check": {
		{Flag: "keep", With: "!spill", Say: "--keep keeps the files of --spill; add --spill DIR"},
		{Flag: "max-window", With: "!spill", Say: "--max-window needs --spill; add --spill DIR"},
		{Flag: "spill", With: "level=all",
			Say: "--level all is not checked out of core; name one level, or leave --spill out"},
		{Flag: "solver", With: "spill", Say: "a check out of core uses no solver; leave --solver or --spill out"},
		{Flag: "shrink", With: "spill", Say: "a check out of core does not shrink: its page and certificate list " +
			"the transactions of the violation; leave --shrink or --spill out"},
		{Flag: "proof", With: "spill",
			Say: "the kernel does not judge a check out of core; leave --proof or --spill out"},
		{Flag: "ignore-predicates profile", With: "level=all",
			Say: "--ignore-predicates and --profile need one level; leave them out with --level all"},
		{Flag: "dot certificate proof shrink", With: "level=all",
			Say: "--dot, --certificate, --proof and --shrink need one level; leave them out with --level all"},
		{Flag: "json", With: "output!=text output!=json",
			Say: "--json and --output {output} are two outputs; leave one out"},
		{Flag: "solver spill certificate proof dot shrink together", With: "workload",
			Say: "--workload says how the history is judged; leave --{} out"},
		leopards,
	},
	"shrink": {leopards},
	"report": {leopards},
	"verify": {
		{Flag: "kernel proof clock-skew format", With: "kernel-file",
			Say: "--kernel-file and --{}: the file is judged as it is"},
	},
}
