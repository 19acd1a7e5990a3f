// Package view serves a viewer of whole histories to a browser on the same machine: sessions and load, keys by
// contention, any span of time down to single operations, the dependencies around a transaction, checks at any level
// with their evidence, and the smallest history that shows a violation.
//
// # Who may ask
//
// The server listens on a loopback address alone. Every address has a random token in its path, and a request without
// it is refused, whatever else it asks for; so is one whose Host is another than that of the server, as a page of
// another site would send it by a name that it points here. Nothing can be changed through it: it reads files, and what
// it makes, a small history say, is handed to the browser, which saves it where the user says. Checks are started by
// POST requests of the page's own script alone. The content security policy allows the page its own files and nothing
// else; names from a history become text, never markup.
//
// # Windows
//
// A history of a million transactions is never sent as a whole. What is asked for is a window: a span of time and some
// rows. Where it has a few thousand transactions at most they are sent as boxes, else as numbers of transactions by
// row and bin. A native file is mapped, so that its columns are the system's pages; what is large in another format is
// copied into one first. The first picture needs the times only; the table of who touched which key is made beside it.
//
// # Files
//
//   - server.go: addresses, who may ask, headers; pages.go: what is at an address
//   - book.go: a history that is open: loading, what is known of it so far
//   - axis.go: when transactions were, and the rows they are drawn in; window.go: a span of it, boxes or numbers
//   - keys.go: who touched which key, and how much at once; search.go
//   - txn.go: a transaction, operation by operation; deps.go: the edges around it; order.go: whose version is first
//   - job.go: checks and shrinking, with progress; answer.go: what came of them
//   - folder.go: results of benchmarks, the folder of a watch
//   - web: the page, its style and its scripts
//
// Experimental: this package may still change.
package view
