import { it } from 'vitest'
import { expectAwaited } from '../support/awaiting-script.ts'

/** Creates a server without a listener: only its timers keep the script alive. */
const statusWith = (options: string): string => `const { createServer } = await import('@bowline/server')
  const server = createServer({ runtime: createRuntime({ agents: [agentOf()] }), ${options} })
  say((await server.fetch(new Request('http://localhost/api/chat/room/stream'))).status)`

it('V61: a script that awaits an answer does not exit while the verifier does not answer', async () => {
  await expectAwaited(statusWith('auth: never'), 503)
})

it('V80: a script that awaits an answer does not exit while the rate limiter does not answer', async () => {
  const auth = `auth: async () => ({ id: 'a', tenant: 'red', scopes: ['admin'] })`
  await expectAwaited(statusWith(`${auth}, rateLimiter: () => ({ take: never, look: never })`), 204)
})
