// Package view serves a viewer of whole histories to a browser on the same machine. It shows sessions and load, keys
// by contention, any span of time down to single operations, and the dependencies around a transaction. It checks any
// level and shows the evidence and the smallest history that violates the level.
//
// # Access
//
// The server listens on a loopback address only. Every address has a random token in its path. The server refuses a
// request without the token, and a request with a foreign Host: a page of another site sends one if it points its own
// name to this machine. No request changes a file: the server reads files, and the browser saves results, such as a
// small history, where the user chooses. Only POST requests of the page's own script start checks. The content
// security policy allows only the page's own files. Names from a history become text, never markup.
//
// # Windows
//
// The server never sends a whole history of a million transactions. The page asks for a window: a span of time and some
// rows. The server sends up to a few thousand transactions as boxes; if there are more, it sends counts by row and bin.
// It maps a native file into memory, and copies a large history of another format into a native file first. The first
// picture needs only the times; meanwhile the server builds the table of the transactions that touched each key.
//
// # Files
//
//   - server.go: addresses, access, headers; pages.go: the content of each address
//   - book.go: an open history: loading, and the results computed for it
//   - axis.go: when transactions ran, and their rows in the figure; window.go: a span of it, boxes or counts
//   - keys.go: the transactions that touched each key, and contention; search.go: search
//   - txn.go: a transaction, operation by operation; deps.go: the edges around it; order.go: which version is first
//   - job.go: checks and shrinking, with progress; answer.go: their results
//   - folder.go: results of benchmarks, the folder of a watch
//   - web: the page, its style and its scripts
//
// Experimental: this package may still change.
package view
