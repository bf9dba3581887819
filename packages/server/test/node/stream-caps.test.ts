import { connect, type Socket } from 'node:net'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { bench, gate, refusal, say, type Bench } from '../support/bench.ts'
import { completion, allFrames } from '../support/frames.ts'

const events = '/api/agent/session/mine/events'

/** Opens this number of streams concurrently. Returns how many succeeded. */
async function opened({ get }: Bench, asked: number): Promise<number> {
  const answers = await Promise.all(Array.from({ length: asked }, () => get(events)))
  for (const answer of answers) if (answer.status !== 200) await refusal(answer, 429, 'too-many-streams')
  const open = answers.filter(({ status }) => status === 200)
  for (const { body } of open) await body?.cancel()
  return open.length
}

it('V78: one stream too many is refused with a delay, and its input is not stored', async () => {
  const hold = gate()
  const it = await bench({ limits: { streamsPerSession: 2 }, steps: [{ parts: [{ wait: hold.passed }], text: 'Hi.' }, { text: 'Again.' }] })
  const execute = await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })
  await it.get(events)
  const refused = await it.get(events)
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(await refusal(refused, 429, 'too-many-streams')).toMatchObject({ retryable: true, retryAfterMs: 1000 })
  const more = { sessionId: 'mine', input: say('more'), options: { onBusy: 'queue' } }
  await refusal(it.execute(more), 429, 'too-many-streams')
  expect(await (await it.get('/api/agent/session/mine')).json()).toMatchObject({ status: 'running' })
  hold.open()
  expect(completion(await allFrames(execute)).status).toBe('completed')
  expect(it.model.calls).toHaveLength(1)
  expect((await it.execute(more)).status).toBe(200)
})

it('V78: after a storm of readers that come and go at any moment, the count is zero', async () => {
  const streams = 20
  const hold = gate()
  const it = await bench({ limits: { streamsPerSession: streams }, steps: [{ parts: [{ wait: hold.passed }], text: 'Hi.' }] })
  await (await it.execute({ sessionId: 'mine', input: say('hi'), context: {} })).body?.cancel()
  for (let wave = 0; wave < 15; wave++) {
    await Promise.all(Array.from({ length: streams }, (_, place) => comeAndGo(it, (wave + place) % 5)))
  }
  // The server notices a closed connection through the operating system. A stream that still counts here has leaked its slot.
  for (let again = 0; again < 2; again++) await expect.poll(() => opened(it, streams + 5), { timeout: 20_000 }).toBe(streams)
  hold.open()
})

/** Disconnects after half a request, right after the request, with the first bytes, by a reset, or sends a HEAD request. */
async function comeAndGo({ running }: Bench, how: number): Promise<void> {
  const socket = connect(running.port, '127.0.0.1')
  await once(socket, 'connect')
  const request = `${how === 4 ? 'HEAD' : 'GET'} ${events} HTTP/1.1\r\nHost: localhost\r\n\r\n`
  socket.write(how === 0 ? request.slice(0, 40) : request)
  if (how >= 2) await once(socket, 'data')
  leave(socket, how)
}

function leave(socket: Socket, how: number): void {
  if (how === 3) socket.resetAndDestroy()
  else socket.destroy()
}
