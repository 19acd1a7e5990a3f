package workloads

// Kind is a kind of finding that is not an anomaly of an isolation level, with an explanation.
type Kind struct{ Name, About string }

// Kinds returns the kinds of all workloads; their other findings are anomalies of package level.
func Kinds() []Kind {
	return []Kind{
		{"PL-1-cycle-exists", "operations precede each other by the order of the logs"},
		{"PL-2-cycle-exists", "operations precede each other by their sends and polls"},
		{"bad", "a read has a later part of a key but lacks an earlier one"},
		{"broken-link", "an operation does not follow the position that it links to"},
		{"dirty", "a value was read that no final read has"},
		{"dirty-read", "a read returns a value of a failed transaction"},
		{"duplicate", "a value occurs, or an id was given, more than once"},
		{"inconsistent-offsets", "an offset of a log has several values"},
		{"int-nonmonotonic-poll", "an operation polls values of a key out of order"},
		{"int-nonmonotonic-send", "an operation sends values to a key, and the log has them out of order"},
		{"int-poll-skip", "an operation polls values of a key and skips some between them"},
		{"int-send-skip", "the log has other values between the values of one operation"},
		{"long-fork", "two reads see two writes in opposite orders"},
		{"lost", "an acknowledged value is missing"},
		{"lost-write", "no poll returns a value, but one returns a later value"},
		{"missing", "a read shows a write but lacks a write acknowledged before that write was called"},
		{"negative-value", "a balance is below zero"},
		{"nil-balance", "a read gives no balance of an account"},
		{"nodes-disagree", "final reads differ"},
		{"nonmonotonic-poll", "a process polls a value that is not behind its earlier ones in the log"},
		{"nonmonotonic-send", "a process sends a value that is not behind its earlier ones in the log"},
		{"order-by-error", "the order of the rows contradicts their timestamps"},
		{"out-of-bounds", "no choice of the possible additions gives the counter's value"},
		{"poll-skip", "a process skips values between two polls"},
		{"precommitted-read", "an operation polls a value that it sends itself"},
		{"revived", "a read shows the value of a failed addition"},
		{"stale", "a read lacks a value that was certainly there before its call"},
		{"strong-PL-1-cycle-exists", "operations precede each other by the logs and real time"},
		{"strong-PL-2-cycle-exists", "operations precede each other by their sends and polls and real time"},
		{"strong-session-PL-1-cycle-exists", "operations precede each other by the logs and the order of processes"},
		{"strong-session-PL-2-cycle-exists", "operations precede each other by their sends and polls and processes"},
		{"unexpected", "a read shows a value that nobody tried to add"},
		{"unexpected-key", "a read shows an unknown account"},
		{"unseen", "an acknowledged value was never polled"},
		{"value-reorder", "the order of the rows contradicts their values"},
		{"wrong-final-read", "a final read differs from every possible sum of the additions"},
		{"wrong-read", "a read returns another value than the last write"},
		{"wrong-total", "the balances of a read do not add up to the total"},
		{"wrong-write", "a write is not the next one"},
	}
}
