import sys
import psycopg

c = psycopg.connect(sys.argv[1], autocommit=True, prepare_threshold=0)
for _ in range(2):
    for line in open(sys.argv[2], encoding="utf-8"):
        try:
            cur = c.execute(line, prepare=True, binary=True)
            print(cur.statusmessage, cur.description and [d.name for d in cur.description], cur.rowcount,
                  cur.fetchall() if cur.description else "")
        except psycopg.Error as e:
            print(e.sqlstate, e.diag.message_primary)
with c.transaction():
    cur = c.cursor()
    cur.executemany("UPDATE accounts SET balance = %s WHERE id = %s", [(1, 1), (2, 3), (3, 4)])
    print(cur.rowcount, c.execute("SELECT id, balance FROM accounts WHERE id = %s", (4,)).fetchall())
    with c.cursor("mine") as cur:
        print(cur.execute("SELECT id FROM accounts ORDER BY id").fetchmany(2))
    with c.cursor().copy("COPY accounts (id) TO STDOUT") as rows:
        print(sorted(bytes(r) for r in rows))
