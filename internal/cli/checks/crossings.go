package checks

import "isovet/internal/cli/console"

// leopards are the flags of one checker.
var leopards = console.Crossing{Flag: "profile mechanisms-only", With: "checker!=leopard",
	Say: "--profile and --mechanisms-only are the checker leopard's; add --checker leopard"}

// Crossings are the flags that have no meaning together.
var Crossings = console.Crossings{
	"check": {
		{Flag: "keep", With: "!spill", Say: "--keep is about the files of --spill; add --spill DIR"},
		{Flag: "max-window", With: "!spill", Say: "--max-window is about --spill; add --spill DIR"},
		{Flag: "spill", With: "level=all",
			Say: "--level all is not checked out of core; name one level, or leave --spill out"},
		{Flag: "solver", With: "spill", Say: "--solver has no meaning out of core; leave it or --spill out"},
		{Flag: "shrink", With: "spill",
			Say: "--shrink has no meaning out of core: the page and the certificate have the transactions that " +
				"take part; leave it or --spill out"},
		{Flag: "proof", With: "spill",
			Say: "--proof has no meaning out of core, where the kernel judges nothing; leave it or --spill out"},
		{Flag: "ignore-predicates profile", With: "level=all",
			Say: "--ignore-predicates and --profile are of one level; leave them out with --level all"},
		{Flag: "dot certificate proof shrink", With: "level=all",
			Say: "--dot, --certificate, --proof and --shrink are of one level; leave them out with --level all"},
		{Flag: "json", With: "output!=text output!=json",
			Say: "--json and --output {output} are two outputs; leave one out"},
		leopards,
	},
	"shrink": {leopards},
	"report": {leopards},
	"verify": {
		{Flag: "kernel proof clock-skew format", With: "kernel-file",
			Say: "--kernel-file and --{}: the file is judged as it is"},
	},
}
