package mechanism

import "isovet/level"

// Profiles returns the built-in profiles: the eighteen systems of Leopard's Table I, read as errata L5 does, and others
// that isovet collects histories from. Each call returns a copy.
func Profiles() []Profile {
	const strict, si = level.StrictSerializable, level.StrictSnapshotIsolation
	// PostgreSQL takes the snapshot with the first statement, not with BEGIN (L3); that statement need not be one of
	// the history's.
	pg := []string{"opengauss", "yugabytedb"}
	// InnoDB's read view is made by the first consistent read. Its SERIALIZABLE reads what is committed now, under
	// locks (L4).
	innodb := []string{"mysql", "mariadb", "aurora", "polardb"}
	oracle := []string{"oceanbase", "saphana", "nuodb"}
	return []Profile{
		{Database: "postgresql", Systems: pg, Isolation: "serializable", Level: level.SessionSerializable,
			Reads: TransactionReads, Snapshot: AtBegin, WriteLocks: true, FirstUpdaterWins: true, Certifier: CycleCheck,
			Note: "serializable snapshot isolation"},
		{Database: "postgresql", Systems: pg, Isolation: "repeatable-read", Level: si, Reads: TransactionReads,
			Snapshot: AtBegin, WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier,
			Note: "snapshot isolation"},
		{Database: "postgresql", Systems: pg, Isolation: "snapshot", Level: si, Reads: TransactionReads,
			Snapshot: AtBegin, WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier,
			Note: "repeatable-read by its other name"},
		{Database: "postgresql", Systems: pg, Isolation: "read-committed", Level: level.ReadCommitted,
			Reads: StatementReads, WriteLocks: true, Certifier: NoCertifier},

		{Database: "innodb", Systems: innodb, Isolation: "serializable", Level: strict, Reads: StatementReads,
			WriteLocks: true, ReadLocks: true, Certifier: CycleCheck, Note: "plain reads lock"},
		{Database: "innodb", Systems: innodb, Isolation: "repeatable-read", Level: level.ReadCommitted,
			Reads: TransactionReads, Snapshot: AtFirstRead, WriteLocks: true, Certifier: NoCertifier,
			Note: "plain reads; updates are lost"},
		{Database: "mariadb", Isolation: "repeatable-read-snapshot", Level: si, Reads: TransactionReads,
			Snapshot: AtFirstRead, WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier,
			Note: "innodb_snapshot_isolation=1"},
		{Database: "innodb", Systems: innodb, Isolation: "read-committed", Level: level.ReadCommitted,
			Reads: StatementReads, WriteLocks: true, Certifier: NoCertifier},
		{Database: "innodb", Systems: innodb, Isolation: "read-uncommitted", Level: level.ReadCommitted, Reads: NoReads,
			WriteLocks: true, Certifier: NoCertifier, Note: "promises no read"},

		{Database: "sqlserver", Isolation: "serializable", Level: strict, Reads: StatementReads, WriteLocks: true,
			ReadLocks: true, Certifier: CycleCheck, Note: "plain reads lock"},
		{Database: "sqlserver", Isolation: "repeatable-read", Level: level.RepeatableRead, Reads: StatementReads,
			WriteLocks: true, ReadLocks: true, Certifier: NoCertifier, Note: "locks of rows, not of ranges"},
		{Database: "sqlserver", Isolation: "snapshot", Level: si, Reads: TransactionReads, Snapshot: AtBegin,
			WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier},
		{Database: "sqlserver", Isolation: "read-committed", Level: level.ReadCommitted, Reads: StatementReads,
			WriteLocks: true, Certifier: NoCertifier},

		{Database: "tidb", Isolation: "repeatable-read", Level: level.ReadCommitted, Reads: TransactionReads,
			Snapshot: AtBegin, WriteLocks: true, Certifier: NoCertifier,
			Note: "pessimistic; updates read what is committed now"},
		{Database: "tidb", Isolation: "read-committed", Level: level.ReadCommitted, Reads: StatementReads,
			WriteLocks: true, Certifier: NoCertifier, Note: "pessimistic"},
		{Database: "tidb", Isolation: "snapshot", Level: si, Reads: TransactionReads, Snapshot: AtBegin,
			FirstUpdaterWins: true, Certifier: NoCertifier, Note: "optimistic (Percolator): locks at prewrite only"},

		{Database: "rocksdb", Isolation: "snapshot", Level: si, Reads: TransactionReads, Snapshot: AtBegin,
			WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier,
			Note: "pessimistic transactions with a snapshot"},
		{Database: "rocksdb", Isolation: "optimistic", Level: si, Reads: TransactionReads, Snapshot: AtBegin,
			FirstUpdaterWins: true, Certifier: NoCertifier, Note: "conflicts are found at commit"},
		{Database: "sqlite", Isolation: "serializable", Systems: nil, Level: strict, Reads: StatementReads,
			WriteLocks: true, Certifier: CycleCheck, Note: "one writer at a time"},
		{Database: "sqlite", Isolation: "immediate", Level: strict, Reads: TransactionReads, Snapshot: AtBegin,
			WriteLocks: true, FirstUpdaterWins: true, Certifier: CycleCheck,
			Note: "BEGIN IMMEDIATE: the write lock is taken first"},
		{Database: "sqlite", Isolation: "deferred", Level: strict, Reads: TransactionReads, Snapshot: AtBegin,
			WriteLocks: true, FirstUpdaterWins: true, Certifier: CycleCheck, Note: "WAL: readers keep their snapshot"},
		{Database: "foundationdb", Isolation: "serializable", Level: strict, Reads: TransactionReads, Snapshot: AtBegin,
			Certifier: CycleCheck, Note: "optimistic: conflicts are found at commit"},
		{Database: "singlestore", Isolation: "read-committed", Level: level.ReadCommitted, Reads: StatementReads,
			WriteLocks: true, Certifier: NoCertifier},
		{Database: "cockroachdb", Isolation: "serializable", Level: level.Serializable, Reads: TransactionReads,
			Snapshot: AtBegin, StaleReads: true, Certifier: CycleCheck, Note: "timestamps may lag behind real time"},
		{Database: "spanner", Isolation: "serializable", Level: strict, Reads: StatementReads, WriteLocks: true,
			Certifier: CycleCheck, Note: "strong reads"},

		{Database: "oracle", Systems: oracle, Isolation: "snapshot", Level: si, Reads: TransactionReads,
			Snapshot: AtBegin, WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier,
			Note: "SERIALIZABLE there"},
		{Database: "oracle", Systems: oracle, Isolation: "serializable", Level: si, Reads: TransactionReads,
			Snapshot: AtBegin, WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier,
			Note: "snapshot isolation by its name there"},
		{Database: "oracle", Systems: oracle, Isolation: "read-committed", Level: level.ReadCommitted,
			Reads: StatementReads, WriteLocks: true, Certifier: NoCertifier},

		// Not in the paper.
		{Database: "galera", Isolation: "repeatable-read", Level: level.ReadCommitted, Reads: TransactionReads,
			Snapshot: AtFirstRead, StaleReads: true, Certifier: NoCertifier, Note: "locks of one node only"},
		{Database: "galera", Isolation: "repeatable-read-snapshot", Level: level.SessionSnapshotIsolation,
			Reads: TransactionReads, Snapshot: AtFirstRead, StaleReads: true, FirstUpdaterWins: true,
			Certifier: NoCertifier, Note: "innodb_snapshot_isolation=1"},
		{Database: "galera", Isolation: "serializable", Level: level.ReadCommitted, Reads: StatementReads,
			StaleReads: true, Certifier: NoCertifier, Note: "locks of one node only"},
		{Database: "badger", Isolation: "serializable-snapshot", Level: strict, Reads: TransactionReads,
			Snapshot: AtBegin, Certifier: CycleCheck, Note: "read sets are validated at commit"},
		{Database: "badger", Isolation: "no-conflict-detection", Level: level.ReadCommitted, Reads: TransactionReads,
			Snapshot: AtBegin, Certifier: NoCertifier, Note: "updates are lost"},
		{Database: "etcd", Isolation: "serializable", Level: strict, Reads: StatementReads, Certifier: CycleCheck,
			Note: "revisions read are compared at commit; lightweight transactions too"},
		{Database: "redis", Isolation: "watch", Level: strict, Reads: StatementReads, Certifier: CycleCheck,
			Note: "WATCH, MULTI, EXEC"},
		{Database: "redis", Isolation: "multi", Level: level.ReadCommitted, Reads: StatementReads,
			Certifier: NoCertifier, Note: "without WATCH: updates are lost"},
		{Database: "duckdb", Isolation: "snapshot", Level: si, Reads: TransactionReads, Snapshot: AtBegin,
			FirstUpdaterWins: true, Certifier: NoCertifier},
		{Database: "firebird", Isolation: "snapshot", Level: si, Reads: TransactionReads, Snapshot: AtBegin,
			WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier},
		{Database: "firebird", Isolation: "read-committed", Level: level.ReadCommitted, Reads: StatementReads,
			WriteLocks: true, Certifier: NoCertifier},
		// The store in memory of package datasets/store.
		{Database: "store", Isolation: "serializable", Level: strict, Reads: StatementReads, WriteLocks: true,
			ReadLocks: true, Certifier: CycleCheck, Note: "strict two-phase locking"},
		{Database: "store", Isolation: "serializable-snapshot", Level: level.SessionSerializable,
			Reads: TransactionReads, Snapshot: AtFirstStatement, WriteLocks: true, FirstUpdaterWins: true,
			Certifier: CycleCheck},
		{Database: "store", Isolation: "snapshot", Level: si, Reads: TransactionReads, Snapshot: AtFirstStatement,
			WriteLocks: true, FirstUpdaterWins: true, Certifier: NoCertifier},
		{Database: "store", Isolation: "repeatable-read", Level: level.RepeatableRead, Reads: StatementReads,
			WriteLocks: true, ReadLocks: true, Certifier: NoCertifier, Note: "two-phase locking of rows only"},
		{Database: "store", Isolation: "read-committed", Level: level.ReadCommitted, Reads: StatementReads,
			WriteLocks: true, Certifier: NoCertifier},
		{Database: "store", Isolation: "read-uncommitted", Level: level.ReadCommitted, Reads: NoReads, WriteLocks: true,
			Certifier: NoCertifier, Note: "promises no read"},
	}
}
