import { join } from 'node:path'
import { defineAgent } from '@bowline/agent-loop'
import type { StoredMessage } from '@bowline/agent-loop'
import type { DurableEvent } from '@bowline/agent-loop/events'
import { systemClock } from '@bowline/llm'
import { createRuntime } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'
import type { NewEntry, NewEvent, Runtime, SessionStore, Write } from '@bowline/sessions'
import { sqliteStore } from '@bowline/sessions/sqlite'
import { demoAgentName } from '../../src/server/agents.ts'
import { offlineModel } from '../../src/model/offline-model.ts'
import { createPace } from '../../src/pace.ts'
import { getWeather } from '../../src/server/tools/get-weather.ts'
import { sessionKeyOf } from '../../src/server/session-key.ts'

export interface LongSession {
  readonly sessionId: string
  /** Phrase that the offline model understands. */
  readonly say: string
  readonly turns: number
  /** Replaces the text of the user in every turn. */
  readonly question?: string
  /** Replaces the text of the last answer in every turn. */
  readonly answer?: string
}

const secondsPerTurn = 30
const turnsPerBatch = 10

/** Writes sessions into the SQLite store of a demo that is not running, by repeating one turn of the offline model. */
export async function writeSessions(dataFolder: string, sessions: readonly LongSession[]): Promise<void> {
  const runtime = templateRuntime(dataFolder)
  await runtime.start()
  const store = sqliteStore({ file: join(dataFolder, 'data.db') })
  await store.open({ namespace: 'default', clock: systemClock, owner })
  try {
    for (const session of sessions) await writeSession(store, await oneTurn(runtime, session), session)
  } finally {
    await store.close()
    await runtime.stop()
  }
}

const owner = 'writer'

function templateRuntime(dataFolder: string): Runtime {
  const pace = createPace(0, systemClock)
  const agent = defineAgent({
    name: demoAgentName,
    description: 'Makes one turn.',
    instructions: '',
    model: offlineModel({ pace }),
    tools: [getWeather({ pace, clock: systemClock, dataFolder })],
  })
  return createRuntime({ agents: [agent], store: memoryStore() })
}

/** Returns the events of one turn of the offline model. */
async function oneTurn(runtime: Runtime, { sessionId, say, question, answer }: LongSession): Promise<readonly DurableEvent[]> {
  const session = runtime.session(sessionId, { agent: demoAgentName })
  const { status } = await (await session.send(say)).result()
  if (status !== 'completed') throw new Error(`The turn of ${say} is ${status}.`)
  const { events } = await runtime.store.readEvents(sessionId, 0, 1000)
  return events.filter(({ type }) => type !== 'session-start').map((event) => withTexts(event as DurableEvent, question, answer))
}

function withTexts(event: DurableEvent, question: string | undefined, answer: string | undefined): DurableEvent {
  if (event.type === 'run-queued' && question !== undefined) return { ...event, input: question }
  if (event.type === 'user-message' && question !== undefined) return { ...event, message: { ...event.message, content: question } }
  if (event.type !== 'message-end' || answer === undefined || event.message.stopReason !== 'stop') return event
  return { ...event, message: { ...event.message, content: [{ type: 'text', text: answer }] } }
}

async function writeSession(store: SessionStore, template: readonly DurableEvent[], { sessionId, turns }: LongSession): Promise<void> {
  const key = sessionKeyOf(sessionId)
  const at = Date.now() - turns * secondsPerTurn * 1000
  const session = { id: `session-${sessionId}`, agent: demoAgentName, metadata: { title: sessionId }, at }
  const start: NewEvent = { event: { type: 'session-start', at, sessionKey: key, commit: { owner } } }
  const turn = turnMaker(template, at)
  let parentId: string | null = null
  const entryOf = (event: DurableEvent): NewEntry[] => {
    if (event.type !== 'user-message' && event.type !== 'message-end' && event.type !== 'tool-execution-end') return []
    const message = event.message as StoredMessage
    const entry: NewEntry = { id: message.id, parentId, type: 'message', at: event.at, message }
    parentId = entry.id
    return [entry]
  }
  for (let from = 0; from < turns; from += turnsPerBatch) {
    const events = Array.from({ length: Math.min(turnsPerBatch, turns - from) }, (_, place) => turn(from + place)).flat()
    const writes: readonly Write[] = [
      { op: 'session.ensure', session },
      { op: 'entry.append', entries: events.flatMap(entryOf) },
      {
        op: 'event.append',
        events: [...(from === 0 ? [start] : []), ...events.map((event) => ({ event: event as unknown as NewEvent['event'] }))],
      },
    ]
    const result = await store.commit({ id: `${sessionId}-${from}`, key, expect: [], writes })
    if (!result.ok) throw new Error(`${sessionId}: ${JSON.stringify(result)}`)
  }
}

/** Returns a function that makes the events of a turn, counted from 0: those of the template with new ids and times. */
function turnMaker(template: readonly DurableEvent[], at: number): (turn: number) => DurableEvent[] {
  // Longest first, because one id may be the beginning of another.
  const ids = [...new Set(template.flatMap(idsIn))].sort((a, b) => b.length - a.length)
  const parts = JSON.stringify(template).split(new RegExp(`(${ids.join('|')})`))
  const startedAt = template[0]?.at ?? 0
  return (turn) => {
    // Elements at odd positions are ids.
    const text = parts.map((part, place) => (place % 2 === 0 ? part : `${part}-${turn}`)).join('')
    return (JSON.parse(text) as DurableEvent[]).map(({ seq: _seq, ...event }) => ({
      ...event,
      at: at + turn * secondsPerTurn * 1000 + event.at - startedAt,
      ...('turn' in event && { turn: turn + 1 }),
    })) as DurableEvent[]
  }
}

/** Returns the ids that must be new in each turn. */
function idsIn(event: DurableEvent): readonly string[] {
  return [
    ...('runId' in event ? [event.runId] : []),
    ...('messageId' in event && event.messageId !== undefined ? [event.messageId] : []),
    ...('toolCallId' in event ? [event.toolCallId] : []),
    ...(event.type === 'tool-execution-end' ? [event.message.id] : []),
  ]
}
