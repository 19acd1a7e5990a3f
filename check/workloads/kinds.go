package workloads

// Kind is a kind of finding that no isolation level has, in words.
type Kind struct{ Name, About string }

// Kinds are those of all workloads; the others are anomalies of package level.
func Kinds() []Kind {
	return []Kind{
		{"bad", "a read has a later part of a key and not an earlier one"},
		{"broken-link", "an operation does not follow the position that it links to"},
		{"dirty", "a value was read that no final read has"},
		{"dirty-read", "a read has what a failed transaction wrote"},
		{"duplicate", "a value stands there, or was given, more than once"},
		{"inconsistent-offsets", "an offset of a log has several values"},
		{"int-nonmonotonic-poll", "an operation polls values of a key out of order"},
		{"int-nonmonotonic-send", "an operation sends values to a key that stand there out of order"},
		{"int-poll-skip", "an operation polls values of a key and skips some between them"},
		{"int-send-skip", "values of others stand between those that an operation sends"},
		{"long-fork", "two reads see two writes in opposite orders"},
		{"lost", "what was acknowledged is not there"},
		{"lost-write", "no poll has a value, and one has what stands behind it"},
		{"missing", "a read has a write and not one that was acknowledged before it was called"},
		{"negative-value", "a balance is below zero"},
		{"nil-balance", "a read gives no balance of an account"},
		{"nodes-disagree", "final reads differ"},
		{"nonmonotonic-poll", "a process polls what does not stand behind what it polled before"},
		{"nonmonotonic-send", "a process sends what does not stand behind what it sent before"},
		{"order-by-error", "rows stand there against the order of their timestamps"},
		{"out-of-bounds", "a counter is outside what was added and what may have been"},
		{"poll-skip", "a process skips values between two polls"},
		{"precommitted-read", "an operation polls what it sends itself"},
		{"revived", "an addition failed and is there"},
		{"stale", "a read does not have what was known to be in before it was called"},
		{"unexpected", "a value is there that nobody tried to put there"},
		{"unexpected-key", "a read has an account that is none"},
		{"unseen", "what was acknowledged was never polled"},
		{"value-reorder", "values stand there against their order"},
		{"wrong-final-read", "a final read is no sum of what was added"},
		{"wrong-read", "a read has another value than the last write"},
		{"wrong-total", "the balances of a read have another sum"},
		{"wrong-write", "a write is not the next one"},
	}
}
