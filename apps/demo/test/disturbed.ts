import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createClient } from '@bowline/client'
import type { Client, ClientEvent, ClientSession } from '@bowline/client'
import { expect } from 'vitest'
import { openPage } from './browse.ts'

/** A client with the cookie of the page at this address. */
export async function clientAt(url: string): Promise<Client> {
  const { request } = await openPage(url)
  return createClient({ baseUrl: url, fetch: (input, init) => request(input instanceof Request ? input.url : String(input), init) })
}

/** Reads a session until it is settled. Resolves an open payment by the book of payments, as a reader would. */
export async function untilSettled(session: ClientSession, dataFolder: string): Promise<readonly ClientEvent[]> {
  const events: ClientEvent[] = []
  let key: string | undefined
  for await (const event of session.attach({ from: 'start' })) {
    events.push(event)
    if (event.type === 'settled') break
    if (event.type === 'tool-execution-start') key = event.idempotencyKey
    if (event.type !== 'turn-end' || event.status !== 'needs-recovery') continue
    const isPaid = (await paymentKeys(dataFolder)).some((payment) => payment === key)
    // The questions are stored a moment after the end of the turn.
    const questions = async () => (await session.state()).pendingToolCalls
    await expect.poll(questions, { timeout: 30_000 }).not.toEqual([])
    for (const { toolCallId } of await questions()) await session.resolveTool(toolCallId, isPaid ? { result: { paid: true, receipt: 'R-2041' } } : { runAgain: true })
  }
  return events
}

/** Returns whether the event shows that a process died in the middle of a run. */
export function tellsOfDeath(event: ClientEvent): boolean {
  if (event.type === 'turn-end') return event.status === 'needs-recovery'
  return event.type === 'message-discarded' || (event.type === 'tool-execution-start' && event.attempt > 1)
}

/** The keys under which money moved. */
export async function paymentKeys(dataFolder: string): Promise<readonly string[]> {
  const lines = (await readFile(join(dataFolder, 'receipts.jsonl'), 'utf8')).trim().split('\n')
  return lines.map((line) => (JSON.parse(line) as { readonly key: string }).key)
}

/** Kills the server as the button of the page does. It may die before it has answered. */
export async function killAt(url: string, request: { readonly delayMs: number; readonly sessionId?: string } = { delayMs: 0 }): Promise<void> {
  const { post } = await openPage(url)
  await post('/studio/kill', request).catch((error: unknown) => expect((error as Error).message).toBe('fetch failed'))
}
