import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '@bowline/client'
import type { Client, ClientEvent, ClientSession } from '@bowline/client'
import { expect } from 'vitest'
import { openPage } from './browse.ts'

/** Creates a client with the cookie of the page at this address. */
export async function clientAt(url: string): Promise<Client> {
  const { request } = await openPage(url)
  return createClient({ baseUrl: url, fetch: (input, init) => request(input instanceof Request ? input.url : String(input), init) })
}

/** Reads a session until it is settled. If a payment is unresolved, decides it by the record of payments, as a user would. */
export async function untilSettled(session: ClientSession, dataFolder: string): Promise<readonly ClientEvent[]> {
  const events: ClientEvent[] = []
  let key: string | undefined
  for await (const event of session.attach({ from: 'start' })) {
    events.push(event)
    if (event.type === 'settled') break
    if (event.type === 'tool-execution-start') key = event.idempotencyKey
    if (event.type !== 'turn-end' || event.status !== 'needs-recovery') continue
    const isPaid = (await paymentKeys(dataFolder)).some((payment) => payment === key)
    // The questions are stored shortly after the end of the turn.
    const questions = async () => (await session.state()).pendingToolCalls
    await expect.poll(questions, { timeout: 30_000 }).not.toEqual([])
    for (const { toolCallId } of await questions())
      await session.resolveTool(toolCallId, isPaid ? { result: { paid: true, receipt: 'R-2041' } } : { runAgain: true })
  }
  return events
}

/** Returns true if the event shows that a process died during a run. */
export function tellsOfDeath(event: ClientEvent): boolean {
  if (event.type === 'turn-end') return event.status === 'needs-recovery'
  return event.type === 'message-discarded' || (event.type === 'tool-execution-start' && event.attempt > 1)
}

/** Returns the idempotency keys of all payments. */
export async function paymentKeys(dataFolder: string): Promise<readonly string[]> {
  const lines = (await readFile(join(dataFolder, 'receipts.jsonl'), 'utf8')).trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as { readonly key: string }).key)
}

/** Kills the server like the button of the page. It may die before it answers. */
export async function killAt(
  url: string,
  request: { readonly delayMs: number; readonly sessionId?: string } = { delayMs: 0 },
): Promise<void> {
  const { post } = await openPage(url)
  await post('/studio/kill', request).catch((error: unknown) => expect((error as Error).message).toBe('fetch failed'))
}
