const { Client } = require('pg')
const fs = require('fs')

async function main() {
  const c = new Client({ connectionString: process.argv[2] })
  await c.connect()
  for (const named of [false, true, true]) {
    let n = 0
    for (const text of fs.readFileSync(process.argv[3], 'utf8').trim().split('\n')) {
      try { // a name makes it a prepared statement, which is used again
        const r = await c.query(named ? { text, name: 's' + n++, values: [], rowMode: 'array' } : text)
        console.log(r.command, r.rowCount, r.fields.map(f => f.name), JSON.stringify(r.rows))
      } catch (e) { console.log(e.code, e.message) }
    }
  }
  const several = [c.query("UPDATE accounts SET v = $1 WHERE id = $2", [5, 1]),
    c.query("SELECT v FROM accounts WHERE id = $1", [1])]
  for (const r of await Promise.all(several)) console.log(r.rowCount, r.rows)
  await c.end()
}
main().catch(e => { console.error(e); process.exit(1) })
