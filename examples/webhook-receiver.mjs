// Receives the webhook, and checks its signature (https://www.standardwebhooks.com). Run it with the secret of the worker:
//   WEBHOOK_SECRET=whsec_… PORT=3000 node examples/webhook-receiver.mjs

import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
const seen = new Set() // a table in your database, written with what you do about the changes

const server = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request.setEncoding('utf8')) body += chunk
  try {
    const { data } = webhook.verify(body, request.headers)
    if (!seen.has(request.headers['webhook-id']))
      for (const { operation, stream, key } of data.changes) console.log(operation, stream, JSON.stringify(key))
    seen.add(request.headers['webhook-id'])
    response.writeHead(204).end()
  } catch {
    response.writeHead(400).end()
  }
})
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => console.log(`port ${server.address().port}`))
