package workloads

// Kind is a kind of finding that is not an anomaly of an isolation level, with an explanation.
type Kind struct{ Name, About string }

// Kinds returns the kinds of all workloads; their other findings are anomalies of package level.
func Kinds() []Kind {
	return []Kind{
		{"bad", "a read has a later part of a key and not an earlier one"},
		{"broken-link", "an operation does not follow the position that it links to"},
		{"dirty", "a value was read that no final read has"},
		{"dirty-read", "a read returns a value of a failed transaction"},
		{"duplicate", "a value stands there, or was given, more than once"},
		{"inconsistent-offsets", "an offset of a log has several values"},
		{"int-nonmonotonic-poll", "an operation polls values of a key out of order"},
		{"int-nonmonotonic-send", "an operation sends values to a key that stand there out of order"},
		{"int-poll-skip", "an operation polls values of a key and skips some between them"},
		{"int-send-skip", "values of others stand between the values of one send"},
		{"long-fork", "two reads see two writes in opposite orders"},
		{"lost", "an acknowledged value is missing"},
		{"lost-write", "no poll returns a value, but one returns a later value"},
		{"missing", "a read has a write and not one that was acknowledged before it was called"},
		{"negative-value", "a balance is below zero"},
		{"nil-balance", "a read gives no balance of an account"},
		{"nodes-disagree", "final reads differ"},
		{"nonmonotonic-poll", "a process polls a value that does not stand behind its earlier ones"},
		{"nonmonotonic-send", "a process sends a value that does not stand behind its earlier ones"},
		{"order-by-error", "rows stand there against the order of their timestamps"},
		{"out-of-bounds", "no choice of the possible additions gives the counter's value"},
		{"poll-skip", "a process skips values between two polls"},
		{"precommitted-read", "an operation polls a value that it sends itself"},
		{"revived", "the value of a failed addition is there"},
		{"stale", "a read lacks a value that was surely there before its call"},
		{"unexpected", "a value is there that nobody tried to add"},
		{"unexpected-key", "a read shows an unknown account"},
		{"unseen", "an acknowledged value was never polled"},
		{"value-reorder", "values stand there against their order"},
		{"wrong-final-read", "a final read is no possible sum of the additions"},
		{"wrong-read", "a read has another value than the last write"},
		{"wrong-total", "the balances of a read have another sum"},
		{"wrong-write", "a write is not the next one"},
	}
}
