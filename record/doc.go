// Package record writes down what the clients of a database see, in your own program, on your own tables, with your own
// client library: the history that package check decides.
//
//	rec := record.New(record.Options{})         // or Create, To, Send
//	s := rec.Session()                          // one for each client (goroutine, connection)
//	t := s.Begin("transfer")                    // just before begin is sent
//	t.Read("alice", balance)                    // behind the read, with what it returned; nil: no such row
//	t.Write("alice", balance-10)                // behind the write, or before it
//	err := t.Commit(tx.Commit)                  // takes the times around it, and the outcome of its error
//	…
//	h, err := rec.History()
//
// # What makes a history worth checking
//
// A version is known by its key and value: the more the values differ, the more a checker can tell. Write a unique id
// beside your business value (or a counter with the client's number in it) and record that. Record aborted transactions
// too, with what they wrote, and every read that decided something, those that found nothing included.
//
// A commit whose answer was lost may have taken effect: record it as unknown, never as aborted. Commit does so with
// every error that Options.Aborted does not know.
//
// # Where it goes
//
//   - New keeps the history in memory, 17 bytes an operation or so; History returns it.
//   - Create streams it to a file that isovet check reads, also if the program is killed half-way: a transaction stands
//     in the file before its commit is sent, and before whatever others saw of it; one of which no line says how it
//     ended is of unknown outcome. What the last 100 ms brought may be missing as a whole.
//   - To streams finished transactions to a writer, Send to an isovet watch that listens (HTTP), each line once,
//     however often the connection breaks.
//
// # Values
//
// Keys are integers and strings; values also booleans, nil (no such row) and rows (column → scalar). What you pass is
// made one of these: integers of all sizes; whole floats as integers, others as the shortest text that tells them
// apart; []byte as text (in hexadecimal, \x…, where it is not UTF-8); time.Time as RFC 3339 in UTC; whatever implements
// driver.Valuer (sql.NullInt64, pgtype's types, …) by its value, encoding.TextMarshaler (netip.Addr, …) by its text, an
// array of bytes (a UUID) by its String method; structs, maps and slices by their JSON: an object of scalars is a row,
// anything deeper the text of the JSON; pointers by what they point to. Values that are longer than Options.MaxValue
// are told by their SHA-256. Anything else — functions, channels, complex numbers, structs without exported fields — is
// an error of the call, of Err, and of History or Close: a history without that operation would accuse the database of
// what it never did.
//
// # Clock
//
// Times are nanoseconds since 1970 by the monotonic clock: the wall clock is looked at once, when the recorder is made.
//
// A Recorder is safe for concurrent use; a Session and its transactions belong to one goroutine at a time.
//
// Stable: this package's API changes only with a new major version.
package record
