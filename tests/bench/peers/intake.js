// `node intake.js REDIS CAPACITY`: BullMQ behind fastify. 202, or 429 at the capacity. BullMQ itself has no bound, so
// the check and the add are two calls, and more than the capacity may get in.

import { Queue } from 'bullmq'
import fastify from 'fastify'
import { NAME, connection, endWithStdin } from './queue.js'

const [redis, capacity] = process.argv.slice(2)
endWithStdin()
const queue = new Queue(NAME, {
  connection: connection(redis),
  defaultJobOptions: { attempts: 3, backoff: { type: 'exponential', delay: 1000 }, removeOnComplete: true },
})
const app = fastify()
app.post('/jobs', async (request, reply) => {
  if ((await queue.getWaitingCount()) >= capacity) return reply.code(429).send()
  const job = await queue.add('call', request.body)
  return reply.code(202).send(job.id)
})
await queue.waitUntilReady()
await app.listen({ host: '127.0.0.1', port: 0 })
console.error(`listening on http://127.0.0.1:${app.server.address().port}`)
