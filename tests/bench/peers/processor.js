// `node processor.js REDIS UPSTREAM`: calls the upstream for each job of BullMQ, 200 at once.

import { Worker } from 'bullmq'
import { Pool } from 'undici'
import { NAME, connection, endWithStdin } from './queue.js'

const IN_FLIGHT = 200

const [redis, upstream] = process.argv.slice(2)
endWithStdin()
const { origin, pathname } = new URL(upstream)
const pool = new Pool(origin, { connections: IN_FLIGHT })
const call = async job => {
  const answer = await pool.request({
    method: 'POST',
    path: pathname,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(job.data),
  })
  await answer.body.dump()
  if (answer.statusCode >= 300) throw new Error(`the upstream answered ${answer.statusCode}`)
}
const worker = new Worker(NAME, call, { connection: connection(redis), concurrency: IN_FLIGHT })
worker.on('error', error => console.error(`Error: ${error.message}`))
await worker.waitUntilReady()
console.error('ready')
