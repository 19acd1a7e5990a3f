// Package report shows evidence to people: as text on a terminal, as a graph for Graphviz, as one self-contained HTML
// page.
//
// What is drawn is small on purpose. A violation is proved by its cycle, and a picture of more than some dozen
// transactions proves nothing to a reader (and layout programs do not finish on it): figures hold at most MaxNodes
// transactions, and say what they leave out. The evidence itself, in JSON or as a certificate, has all.
//
// # Files
//
//   - text.go: verdict, proof in words, statistics
//   - dot.go: transactions as records with a cell an operation, edges from cell to cell, in Elle's look
//   - html.go, markup.go: the page
//   - circle.go: a cycle as a circle with labelled edges, SVG
//   - timeline.go: the transactions by session, SVG
//   - scene.go: which transactions, operations and edges are shown; names and colours
//
// Stable: this package's API changes only with a new major version.
package report
