// Follows the change feed: nothing is skipped, and what was acknowledged is not given again. Run it as a member of boat_mirror_partner:
//   DATABASE_URL=postgres://… node examples/consumer.mjs

import pg from 'pg'

const db = new pg.Client(process.env.DATABASE_URL)
let announced = false
let wake = () => {}
db.on('notification', () => {
  announced = true
  wake()
})
await db.connect()
await db.query('listen boat_mirror_changes')
for (;;) {
  announced = false
  const { rows } = await db.query(`select * from mirror.next_changes('node', 500)`)
  for (const { operation, stream, key } of rows) console.log(operation, stream, JSON.stringify(key))
  if (rows.length > 0) await db.query(`select mirror.ack_changes('node', $1)`, [rows.at(-1).cursor])
  else if (!announced)
    await new Promise((resolve) => {
      wake = resolve
      setTimeout(resolve, 5_000)
    })
}
