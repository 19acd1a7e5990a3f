// Package view serves a viewer of whole histories to a browser on the same machine: sessions and load, keys by
// contention, any span of time down to single operations, the dependencies around a transaction, checks at any level
// with their evidence, and the smallest history that shows a violation.
//
// # Access
//
// The server listens on a loopback address only. Every address has a random token in its path. The server refuses a
// request without the token, and one with another Host, which a page of another site would send after pointing its own
// name here. No request changes a file: the server reads files, and the browser saves what the server makes, such as a
// small history, where the user says. Only POST requests of the page's own script start checks. The content security
// policy allows the page its own files only. Names from a history become text, never markup.
//
// # Windows
//
// A history of a million transactions is never sent whole. The page asks for a window: a span of time and some rows.
// The server sends up to a few thousand transactions as boxes, and more as counts by row and bin. It maps a native file
// into memory, and copies a large history of another format into a native file first. The first picture needs only the
// times; meanwhile the server builds the table of the transactions that touched each key.
//
// # Files
//
//   - server.go: addresses, access, headers; pages.go: the content of each address
//   - book.go: an open history: loading, and what has been computed of it
//   - axis.go: when transactions were, and the rows they are drawn in; window.go: a span of it, boxes or numbers
//   - keys.go: the transactions that touched each key, and contention; search.go: search
//   - txn.go: a transaction, operation by operation; deps.go: the edges around it; order.go: which version is first
//   - job.go: checks and shrinking, with progress; answer.go: their results
//   - folder.go: results of benchmarks, the folder of a watch
//   - web: the page, its style and its scripts
//
// Experimental: this package may still change.
package view
