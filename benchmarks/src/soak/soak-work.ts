import { text } from 'node:stream/consumers'
import { ask, eventsPath, executePath, readEvents } from '../sse-load.ts'
import type { SoakSystem } from './soak-system.ts'

/** Work that was done so far. */
export interface SoakCounts {
  turns: number
  completed: number
  sessions: number
  /** Turns that ended otherwise, and other wrong answers. */
  readonly wrong: string[]
  /** Number of the next piece of work, for ids that are used once. */
  next: number
}

type Work = (system: SoakSystem, counts: SoakCounts, n: number) => Promise<void>

const tenants = 500
/** Tenant of all callers of a server without authentication. */
const localTenant = 'local'
/** Characters of one input of a long conversation, and its number of turns. */
const longInput = 'x'.repeat(5_000)
const longTurns = 20

/** Kinds of work, in the order in which they begin. */
const kinds: readonly Work[] = [
  shortSession,
  longConversation,
  leavingReader,
  overHttp,
  leavingHttpReader,
  bridgeSession,
  delegation,
  mcpSession,
  schedule,
]

/** Does all kinds of work in this number of lanes at once, until the time is over. */
export async function workUntil(system: SoakSystem, counts: SoakCounts, lanes: number, isOver: () => boolean): Promise<void> {
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const n = counts.next++
      const work = kinds[n % kinds.length] ?? shortSession
      await work(system, counts, n).catch((error: unknown) => counts.wrong.push(`${work.name}: ${String(error)}`))
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** Runs two turns in each of 600 sessions, with an input of 100 kB each: more than a process caches. */
export async function largeConversations({ runtime }: SoakSystem, counts: SoakCounts): Promise<void> {
  const content = 'y'.repeat(100_000)
  for (let pass = 0; pass < 2; pass++) {
    for (let first = 0; first < 600; first += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, place) => turn(counts, runtime.session(`large:${first + place}`).send(content))))
    }
  }
}

function keyOf(kind: string, n: number): string {
  return `tenant:t${n % tenants}:s:${kind}-${n}`
}

async function turn(counts: SoakCounts, sent: Promise<{ result(): Promise<{ readonly status: string }> }>): Promise<void> {
  counts.turns += 1
  const { status } = await (await sent).result()
  if (status === 'completed') counts.completed += 1
  else counts.wrong.push(`a turn ended ${status}`)
}

async function shortSession({ runtime }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  const session = runtime.session(keyOf('short', n))
  for (let turns = 0; turns < 3; turns++) await turn(counts, session.send('go'))
}

async function longConversation({ runtime }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  const session = runtime.session(keyOf('long', n))
  for (let turns = 0; turns < longTurns; turns++) await turn(counts, session.send(longInput))
}

/** Leaves the events of a session after the first one, and those of a run in its middle. */
async function leavingReader({ runtime }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  const session = runtime.session(keyOf('left', n))
  const run = await session.send('go')
  const ended = turn(counts, Promise.resolve(run))
  for await (const _event of session.events()) break
  for await (const event of run) if (event.type === 'text-delta') break
  await ended
}

async function overHttp({ url }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  counts.turns += 1
  let isCompleted = false
  const reader = await readEvents(url, executePath, (data) => (isCompleted ||= data.includes('"status":"completed"')), inputOf(`http-${n}`))
  await reader.ended
  if (isCompleted) counts.completed += 1
  else counts.wrong.push('a turn over HTTP did not complete')
}

/** Cuts the answer and another stream of the session. The turn goes on. */
async function leavingHttpReader({ url, runtime }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  counts.turns += 1
  const id = `cut-${n}`
  const reader = await readEvents(url, executePath, () => reader.leave(), inputOf(id))
  const other = await readEvents(url, eventsPath(id), () => other.leave())
  await Promise.allSettled([reader.ended, other.ended])
  const runId = String(reader.response.headers['x-run-id'])
  for await (const _event of runtime.reader(`tenant:${localTenant}:s:${id}`).events({ runId })) continue
  const run = await runtime.run(runId)
  if (run?.status === 'completed') counts.completed += 1
  else counts.wrong.push(`a turn without a reader ended ${run?.status}`)
}

async function bridgeSession({ bridge }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  const owner = `owner-${n % tenants}`
  const { sessionId } = await bridge.createSession({ owner })
  await promptOf(counts, bridge.prompt({ owner, sessionId, prompt: 'go' }).result())
  // Every third one is never closed.
  if (n % 3 > 0) await bridge.close({ owner, sessionId })
}

async function delegation({ bridge }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  await promptOf(counts, bridge.delegate({ owner: `owner-${n % tenants}`, prompt: 'go' }).result())
}

async function promptOf(counts: SoakCounts, answered: Promise<{ readonly ok: boolean }>): Promise<void> {
  counts.turns += 1
  if ((await answered).ok) counts.completed += 1
  else counts.wrong.push('a request of the bridge failed')
}

/** Connects over MCP and opens a session with one prompt. Closes neither. */
async function mcpSession({ url }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  const clientInfo = { name: `client-${n}`, version: '1.0.0' }
  await mcp(url, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  const { sessionId } = (await mcp(url, 'tools/call', { name: 'sessions_create', arguments: {} })) as { readonly sessionId: string }
  const prompted = mcp(url, 'tools/call', { name: 'sessions_prompt', arguments: { sessionId, prompt: 'go' } })
  await promptOf(
    counts,
    prompted.then((answer) => ({ ok: JSON.stringify(answer).includes('end_turn') })),
  )
}

/** Schedules an input for each second, and cancels that after the first. */
async function schedule({ runtime }: SoakSystem, counts: SoakCounts, n: number): Promise<void> {
  counts.sessions += 1
  const session = runtime.session(keyOf('timed', n))
  const { id } = await session.schedule({ every: 1_000, input: 'go' })
  for await (const event of session.events()) {
    if (event.type !== 'turn-end') continue
    counts.turns += 1
    if (event.status === 'completed') counts.completed += 1
    else counts.wrong.push(`a scheduled turn ended ${event.status}`)
    break
  }
  await session.schedules.delete(id)
}

/** Sends one request of MCP and returns the result, or the structured content of a tool. */
async function mcp(url: string, method: string, params: object): Promise<unknown> {
  const headers = { accept: 'application/json, text/event-stream' }
  const answer = await text(await ask(url, '/mcp', { jsonrpc: '2.0', id: 1, method, params }, headers))
  const json = answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1)
  const { result, error } = JSON.parse(json) as { readonly result?: { readonly structuredContent?: unknown }; readonly error?: unknown }
  if (error) throw new Error(`${method} was answered with ${JSON.stringify(error)}`)
  return result?.structuredContent ?? result
}

function inputOf(sessionId: string): object {
  return { sessionId, input: { role: 'user', content: 'go' }, context: {} }
}
