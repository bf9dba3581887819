import type { LoggedEvent, Runtime } from '@bowline/sessions'
import type { Said } from './workers.ts'

/** A command that a client sent, and the answer. Times are of the process. */
export interface Acknowledged {
  readonly key: string
  readonly inputId: string
  readonly word: string
  readonly runId: string
  readonly accepted: string
  readonly calledAt: number
  readonly answeredAt: number
}

type Log = readonly LoggedEvent[]

/** Returns the events of each session, as a reader sees them that comes at the end. */
export async function readLogs(runtime: Runtime): Promise<ReadonlyMap<string, Log>> {
  const logs = new Map<string, Log>()
  for (const key of await allKeys(runtime)) {
    const events: LoggedEvent[] = []
    for await (const event of runtime.reader(key).events({ live: 'so-far' })) events.push(event)
    logs.set(key, events)
  }
  return logs
}

export async function allKeys(runtime: Runtime): Promise<readonly string[]> {
  const keys: string[] = []
  for (let page: string | undefined; ;) {
    const { items, next } = await runtime.sessions({ limit: 1000, ...(page !== undefined && { page }) })
    keys.push(...items.map(({ key }) => key))
    if (next === undefined) return keys
    page = next
  }
}

/** Compares what a reader saw of each session with what a late reader sees: stored events, and the joined text of each answer. */
export function differingReaders(said: readonly Said[], logs: ReadonlyMap<string, Log>): readonly string[] {
  const seen = Map.groupBy(
    said.filter(({ event }) => event !== undefined),
    ({ key }) => key,
  )
  return [...logs].flatMap(([key, log]) => {
    const live = (seen.get(key) ?? []).flatMap(({ event }) => event ?? [])
    return [...differing(key, storedOf(live), storedOf(log)), ...differing(key, answersOf(live), answersOf(log))]
  })
}

function differing(key: string, seen: readonly string[], expected: readonly string[]): readonly string[] {
  const place = Array.from({ length: Math.max(seen.length, expected.length) }, (_, at) => at).find((at) => seen[at] !== expected[at])
  if (place === undefined) return []
  return [`${key}: item ${place} of ${seen.length} is ${seen[place] ?? 'missing'}, expected ${expected[place] ?? 'nothing'}`]
}

/** Cursors count deltas, which differ between readers. */
function storedOf(events: Log): readonly string[] {
  return events.flatMap(({ cursor: _cursor, ...event }) => ('seq' in event && event.seq !== undefined ? [JSON.stringify(event)] : []))
}

/** Returns the joined deltas of each answer that was completed. */
function answersOf(events: Log): readonly string[] {
  const texts = new Map<string, string>()
  return events.flatMap((event) => {
    if (event.type === 'text-delta') texts.set(event.messageId, (texts.get(event.messageId) ?? '') + event.delta)
    return event.type === 'message-end' ? [`${event.message.id} ${texts.get(event.message.id) ?? ''}`] : []
  })
}

/** Returns the acknowledged inputs that are not in the log exactly once, or in another order than they were acknowledged. */
export function misplacedInputs(commands: readonly Acknowledged[], logs: ReadonlyMap<string, Log>): readonly string[] {
  return [...Map.groupBy(commands, ({ key }) => key)].flatMap(([key, ofSession]) => {
    const log = logs.get(key) ?? []
    const placed = ofSession.map((command) => ({ ...command, places: placesOf(command.inputId, log) }))
    const counts = placed.flatMap(({ inputId, places }) =>
      places.length === 1 ? [] : [`${key}: the log has ${inputId} ${places.length} times`],
    )
    // An input for the run in progress is logged when the run reads it.
    const queued = placed.filter(({ word }) => word !== 'note')
    const turned = queued.flatMap((before) =>
      queued
        .filter((after) => before.answeredAt < after.calledAt && (before.places[0] ?? 0) > (after.places[0] ?? 0))
        .map((after) => `${key}: ${before.inputId} was acknowledged before ${after.inputId} was sent, and is logged after it`),
    )
    return [...counts, ...turned]
  })
}

function placesOf(inputId: string, log: Log): readonly number[] {
  return log.flatMap((event) =>
    (event.type === 'run-queued' || event.type === 'runtime-input') && event.inputId === inputId ? [event.seq ?? 0] : [],
  )
}

/**
 * Returns what is wrong with families of subagents in the background. Each has three below the first. Each of them ends and tells its
 * parent once, and the last one has one of the `payments`, or says that the outcome is unknown.
 */
export function brokenFamilies(
  commands: readonly Acknowledged[],
  logs: ReadonlyMap<string, Log>,
  payments: readonly string[],
): readonly string[] {
  return commands.flatMap(({ key, runId, inputId }) => {
    const log = [...logs].find(
      ([child, events]) => child.startsWith(`${key}~`) && events.some((event) => isCall(event, `c-${inputId}`, 'pay')),
    )?.[1]
    const isUnknown = log?.some((event) => event.type === 'tool-execution-end' && event.message.status === 'unknown')
    const count = payments.filter((id) => id === inputId).length
    const isPaid = count === 1 || (count === 0 && isUnknown)
    return [...brokenFamily(inputId, key, runId, logs), ...(isPaid ? [] : [`${inputId}: ${count} payments, expected 1`])]
  })
}

function isCall(event: LoggedEvent, toolCallId: string, toolName: string): boolean {
  return event.type === 'tool-execution-start' && event.toolCallId === toolCallId && event.toolName === toolName
}

function brokenFamily(inputId: string, key: string, runId: string, logs: ReadonlyMap<string, Log>, depth = 0): readonly string[] {
  const log = logs.get(key) ?? []
  if (depth === 3) return []
  const starts = log.flatMap((event) => (event.type === 'child-start' && event.runId === runId ? [event] : []))
  const [start] = starts
  if (!start || starts.length > 1) return [`${inputId}: ${key} has started ${starts.length} subagents, expected 1`]
  const { childRunId, taskId = '' } = start
  const ends = log.filter((event) => event.type === 'child-end' && event.childRunId === childRunId)
  const told = log.filter((event) => (event.type === 'user-message' || event.type === 'runtime-input') && isAbout(event.message, taskId))
  const child = [...logs].find(([, events]) => events.some((event) => event.type === 'run-queued' && event.runId === childRunId))?.[0]
  return [
    ...(ends.length === 1 ? [] : [`${inputId}: ${key} has ${ends.length} ends of its subagent, expected 1`]),
    ...(told.length === 1 ? [] : [`${inputId}: ${key} was told ${told.length} times of the end of its subagent, expected 1`]),
    ...(child === undefined
      ? [`${inputId}: the session of ${childRunId} is missing`]
      : brokenFamily(inputId, child, childRunId, logs, depth + 1)),
  ]
}

function isAbout(message: unknown, taskId: string): boolean {
  return JSON.stringify(message ?? '').includes(taskId)
}
