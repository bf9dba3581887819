import { onTestFinished } from 'vitest'
import { createClient, type Client, type ClientEvent, type ClientOptions } from '../../src/index.ts'
import { JumpingClock } from './jumping-clock.ts'
import { WireServer } from './wire-server.ts'

export async function startServer(): Promise<WireServer> {
  const server = new WireServer()
  onTestFinished(() => server.close())
  await server.listen()
  return server
}

/** Creates a client whose backoff takes no time. None of its other timers ever fires. */
export function connect(server: { readonly url: string }, options: Partial<ClientOptions> = {}): Client {
  let ids = 0
  return createClient({
    baseUrl: server.url,
    clock: new JumpingClock(0),
    random: () => 0,
    ids: () => `id${++ids}`,
    ...options,
  })
}

export async function collect(events: AsyncIterable<ClientEvent>): Promise<ClientEvent[]> {
  const all: ClientEvent[] = []
  for await (const event of events) all.push(event)
  return all
}

/** Reads until the condition holds, then stops. */
export async function collectUntil(events: AsyncIterable<ClientEvent>, isLast: (event: ClientEvent) => boolean): Promise<ClientEvent[]> {
  const all: ClientEvent[] = []
  for await (const event of events) {
    all.push(event)
    if (isLast(event)) break
  }
  return all
}
