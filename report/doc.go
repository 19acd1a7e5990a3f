// Package report shows evidence to people: as text on a terminal, as a graph for Graphviz, and as one HTML page that
// needs no other file.
//
// A figure has at most MaxNodes transactions and says how many it leaves out: a cycle proves the violation, and
// neither readers nor layout programs cope with larger figures. The evidence as JSON or as a certificate is complete.
//
// # Files
//
//   - text.go: verdict, proof in words, statistics
//   - dot.go: transactions as records with a cell for each operation, edges from cell to cell, in Elle's look
//   - html.go, markup.go: the page
//   - circle.go: a cycle as a circle with labelled edges, SVG
//   - timeline.go: the transactions by session, SVG
//   - scene.go: the transactions, operations and edges of a figure; names and colours
//
// Stable: this package's API changes only with a new major version.
package report
