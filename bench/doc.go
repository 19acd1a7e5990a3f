// Package bench compares checkers, and repeats the papers' tables and figures. Every run is a process of its own, so
// that peak memory, time-out and crash concern this run only: [Compare] starts the program itself with a hidden
// command that calls [Child], which loads one history, checks it once and prints one line of JSON. A Go program that
// measures an encoding of its own leaves [Options.Self] out: its runs are in its process.
//
// Runs follow one another, since two at once would share caches and memory bandwidth. Times are medians over the
// repeats, with minimum and maximum; memory is the maximum.
//
// # Files
//
//   - compare.go: contenders × histories × repeats, rows of the table, disagreements
//   - child.go: one run, from both sides of the process border
//   - source.go: where histories come from: a workload, or files
//   - table.go: rows as table, Markdown, CSV, JSON
//   - reproduce.go: the papers' figures: registry, histories, runs; figure.go: their results; charts.go: their charts
//   - vbox.go, vbox_table1.go: the evaluation of Vbox
//   - leopard.go: the evaluation of Leopard; chronos.go, aion_figures.go: of Chronos and its online form Aion
//   - claims.tsv: what the papers claim, as rows; claims_table.go reads them, claims.go judges, finders*.go measure
//   - results.go: raw results with the machine they were measured on
//
// Experimental: this package may still change.
package bench
