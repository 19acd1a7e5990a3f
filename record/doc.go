// Package record records what the clients of a database see, in your own program, on your own tables, with your own
// client library. The result is a history that package check can decide.
//
//	rec := record.New(record.Options{})         // or Create, To, Send
//	s := rec.Session()                          // one for each client (goroutine, connection)
//	t := s.Begin("transfer")                    // just before begin is sent
//	t.Read("alice", balance)                    // after the read, with what it returned; nil: no such row
//	t.Write("alice", balance-10)                // after the write, or before it
//	err := t.Commit(tx.Commit)                  // takes the times around it, and the outcome of its error
//	…
//	h, err := rec.History()
//
// # What makes a history worth checking
//
// A version is known by its key and value: the more the values differ, the more a checker can tell. Write a unique id
// beside your business value (or a counter with the client's number in it) and record that. Record aborted
// transactions too, with their writes. Record every read that decided something, also if it found nothing.
//
// A commit whose answer was lost may have taken effect: record it as unknown, never as aborted. Commit does so for
// every error that Options.Aborted does not know.
//
// # Where it goes
//
//   - New keeps the history in memory, about 17 bytes an operation; History returns it.
//   - Create streams it to a file that isovet check reads, also if the program is killed: a transaction is in the file
//     before its commit is sent, and before any write of it that others saw. Without a line about its end, its outcome
//     is unknown. The last 100 ms may be missing as a whole.
//   - To streams finished transactions to a writer, Send to an isovet watch that listens (HTTP), each line once,
//     however often the connection breaks.
//
// # Values
//
// Keys are integers and strings; values also booleans, nil (no such row) and rows (column → scalar). Other types are
// converted: integers of all sizes; whole floats to integers, others to the shortest text that identifies them; []byte
// to text (in hexadecimal, \x…, if it is not UTF-8); time.Time to RFC 3339 in UTC; a driver.Valuer (sql.NullInt64,
// pgtype's types, …) to its value, an encoding.TextMarshaler (netip.Addr, …) to its text, an array of bytes (a UUID)
// by its String method; structs, maps and slices to their JSON, where an object of scalars is a row and anything
// deeper is text; pointers to what they point to. A value longer than Options.MaxValue is replaced by its SHA-256. Any
// other type — functions, channels, complex numbers, structs without exported fields — is an error of the call, of
// Err, and of History or Close: a history without that operation could accuse the database wrongly.
//
// # Clock
//
// Times are nanoseconds since 1970 by the monotonic clock. The wall clock is read once, when the recorder is made.
//
// Several goroutines may use a Recorder; one at a time may use a Session and its transactions.
//
// Stable: this package's API changes only with a new major version.
package record
