import sys
import psycopg2

c = psycopg2.connect(sys.argv[1])
c.autocommit = True
cur = c.cursor()
for line in open(sys.argv[2], encoding="utf-8"):
    try:
        cur.execute(line)
        print(cur.statusmessage, cur.description and [d.name for d in cur.description], cur.rowcount,
              cur.fetchall() if cur.description else "")
    except psycopg2.Error as e:
        print(e.pgcode, e.diag.message_primary)
with c.cursor("mine", withhold=True) as cur:  # a cursor of the server's
    cur.itersize = 2
    cur.execute("SELECT id FROM accounts ORDER BY id")
    print(list(cur))
cur = c.cursor()
cur.execute("SELECT balance FROM accounts WHERE id = %s AND name IS NOT DISTINCT FROM %s", (4, "é"))
print(cur.fetchall())
