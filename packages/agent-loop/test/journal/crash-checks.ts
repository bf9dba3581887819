import { addUsage } from '@bowline/llm'
import type { Usage } from '@bowline/llm'
import { emptyView, reduceEvents } from '../../src/index.ts'
import type { AgentEvent, RunView, StoredMessage } from '../../src/index.ts'
import { checkEvents, checkTranscript } from '@bowline/testing'
import { inputs } from './crash-family.ts'
import type { Life } from './crash-lives.ts'

type EventOf<Type extends AgentEvent['type']> = Extract<AgentEvent, { type: Type }>

/** Checks one conversation by the rules that hold with and without crashes. Returns the faults. */
export function checkLife({ world, state, log, logs }: Life): readonly string[] {
  const faults: string[] = []
  const claim = (holds: boolean, fault: string): void => void (holds || faults.push(fault))
  for (const [path, events] of logs) {
    for (const problem of checkEvents(events, { unfinished: true })) claim(false, `A35 ${path}: ${problem}`)
    faults.push(
      ...checkFold(path, events, path === '' ? state.messages : undefined),
      ...checkSums(path, events),
      ...checkChildren(path, logs),
    )
  }
  claim(state.open === undefined, 'A171: the turn is still open')
  for (const problem of checkTranscript(state.messages)) claim(false, `A171: ${problem}`)
  claim(world.inbox.length === 0, `A180: ${world.inbox.length} inputs are left in the inbox`)
  faults.push(...checkInputs(state.messages, log), ...checkEffects(world.effects), ...checkWaits(log), ...checkDiscarded(log))
  return faults
}

/** Checks that every message which the log ends and does not withdraw is in the transcript, once. */
function checkFold(path: string, log: readonly AgentEvent[], messages: readonly StoredMessage[] | undefined): readonly string[] {
  const view = log.reduce<RunView>(reduceEvents, emptyView)
  const ends = of(log, 'message-end').map(({ messageId }) => messageId)
  const outcomes = of(log, 'tool-execution-end').map(({ toolCallId }) => toolCallId)
  return [
    ...(view.gap ? [`A45 ${path}: the log has a gap`] : []),
    ...(messages && JSON.stringify(view.messages) !== JSON.stringify(messages) ? [`A45 ${path}: the fold is not the transcript`] : []),
    ...repeated(ends).map((id) => `A171 ${path}: the answer ${id} ends twice`),
    ...repeated(outcomes).map((id) => `A40 ${path}: the call ${id} ends twice`),
    ...repeated(of(log, 'runtime-input').map(({ inputId }) => inputId)).map((id) => `A180 ${path}: the input ${id} is taken twice`),
    ...repeated(of(log, 'user-message').map(({ message }) => JSON.stringify(message.content))).map(
      (text) => `A171 ${path}: ${text} is logged twice`,
    ),
  ]
}

/** Checks that the usage in a turn's end is the sum over its events. */
function checkSums(path: string, log: readonly AgentEvent[]): readonly string[] {
  const faults: string[] = []
  const sums = new Map<number, Usage>()
  for (const event of log) {
    const used =
      event.type === 'message-end'
        ? event.message.role === 'assistant'
          ? event.message.usage
          : undefined
        : event.type === 'usage'
          ? event.usage
          : undefined
    const turn = 'turn' in event ? (event.turn ?? 0) : 0
    // Usage of a compaction after the turn is booked after the turn's end.
    if (used) sums.set(turn, addUsage(sums.get(turn) ?? {}, used))
    if (event.type !== 'turn-end') continue
    const [told, summed] = [tokens(event.usage), tokens(sums.get(turn) ?? {})]
    if (told !== summed) faults.push(`A44 ${path}: the end of turn ${turn} tells of ${told} tokens, its events of ${summed}`)
  }
  return faults
}

function tokens({ inputTokens = 0, outputTokens = 0 }: Usage): string {
  return `${inputTokens}+${outputTokens}`
}

/** Checks that each child starts and ends once, and that its parent books the usage from its log once. */
function checkChildren(path: string, logs: ReadonlyMap<string, readonly AgentEvent[]>): readonly string[] {
  const log = logs.get(path) ?? []
  return of(log, 'child-end').flatMap(({ toolCallId, status, usage }) => {
    const below = [...logs].find(([key]) => key.startsWith(`${path}/`) && key.endsWith(`/${toolCallId}`))
    const end = below && of(below[1], 'turn-end').at(-1)
    const count = of(log, 'child-start').filter((event) => event.toolCallId === toolCallId).length
    const ends = of(log, 'child-end').filter((event) => event.toolCallId === toolCallId).length
    const booked = of(log, 'usage').filter(({ purpose }) => purpose === 'child').length
    return [
      ...(count === 1 && ends === 1 && booked === 1
        ? []
        : [`A162 ${path}: the child of ${toolCallId} starts ${count}, ends ${ends} and is booked ${booked} times`]),
      ...(status === 'completed' && end?.status === 'completed' ? [] : [`A171 ${path}: the child of ${toolCallId} ends as ${status}`]),
      ...(end && tokens(end.usage) === tokens(usage)
        ? []
        : [`A162 ${path}: the child of ${toolCallId} used ${end ? tokens(end.usage) : 'nothing'}, and ${tokens(usage)} are told`]),
    ]
  })
}

/** Checks that each input is in the transcript once, and no overlay is. */
function checkInputs(messages: readonly StoredMessage[], log: readonly AgentEvent[]): readonly string[] {
  const texts = messages.flatMap((message) => (message.role === 'user' ? JSON.stringify(message.content) : []))
  const { overlayOfRun, ...others } = inputs
  const once = [...Object.values(others), 'told at the start', 'steered from outside', 'steered at the end']
  const overlays = of(log, 'runtime-input').filter(({ source }) => source === 'overlay').length
  const everything = JSON.stringify([messages, log])
  return [
    ...once
      .filter((text) => texts.filter((given) => given === JSON.stringify(text)).length !== 1)
      .map((text) => `A180: ${text} is not in the transcript once`),
    ...[overlayOfRun, 'overlay from outside']
      .filter((text) => everything.includes(text))
      .map((text) => `A100: ${text} is in the transcript or the log`),
    ...(overlays === 2 ? [] : [`A100: ${overlays} overlays are taken instead of 2`]),
  ]
}

function checkEffects(effects: Life['world']['effects']): readonly string[] {
  return [...effects].flatMap(([toolCallId, { toolName, keys, attempts }]) => {
    const isOnce = toolName === 'pay' || toolName === 'sure'
    return [
      ...(keys.size === 1 ? [] : [`A173: ${toolCallId} ran under the keys ${[...keys].join(', ')}`]),
      ...(isOnce && attempts.length > 1 ? [`A172: ${toolCallId} ran ${attempts.length} times`] : []),
      // An attempt is missing if its process died between its commit and its start.
      ...(attempts.every((attempt, place) => place === 0 || attempt > (attempts[place - 1] ?? 0))
        ? []
        : [`A173: the attempts of ${toolCallId} are ${attempts.join(', ')}`]),
    ]
  })
}

/** Checks that a wait continues after a crash: the next attempt begins when the wait was to end. */
function checkWaits(log: readonly AgentEvent[]): readonly string[] {
  return of(log, 'retry-start').flatMap(({ seq = 0, notBefore }) => {
    const next = of(log, 'message-start').find((event) => (event.seq ?? 0) > seq)
    return next?.at === notBefore ? [] : [`A177: an attempt that was to begin at ${notBefore} begins at ${next?.at ?? 'no time'}`]
  })
}

/** Checks that the cost of an answer which died with its process is booked, as an estimate. */
function checkDiscarded(log: readonly AgentEvent[]): readonly string[] {
  const durable = log.filter(({ seq }) => seq !== undefined)
  return durable.flatMap((event, place) => {
    if (event.type !== 'message-discarded' || event.reason !== 'crash') return []
    const next = durable[place + 1]
    const isBooked = next?.type === 'usage' && next.purpose === 'discarded-attempt' && next.usage.estimated === true
    return isBooked ? [] : [`A44: the cost of ${event.messageId}, which died with its process, is not booked`]
  })
}

/** Returns the differences of a conversation with crashes from the calm one, as far as crashes must not cause them. */
export function compareLives(calm: Life, stormy: Life): readonly string[] {
  const faults: string[] = []
  const same = (what: string, wanted: readonly string[], found: readonly string[]): void => {
    for (let place = 0; place < Math.max(wanted.length, found.length); place++) {
      if (wanted[place] !== found[place])
        return void faults.push(differenceOf(`${what} ${place}`, wanted[place] ?? 'nothing', found[place] ?? 'nothing'))
    }
  }
  same('A171: message', shapeOf(calm.messages), shapeOf(stormy.messages))
  for (const [path, log] of calm.logs) {
    if (path !== '') same(`A171: message of ${path}`, shapeOf(foldOf(log)), shapeOf(foldOf(stormy.logs.get(path) ?? [])))
  }
  same('conversation', [...calm.logs.keys()], [...stormy.logs.keys()])
  same('request', requestsOf(calm), requestsOf(stormy))
  same('compaction', compactions(calm), compactions(stormy))
  same(
    'effect',
    [...calm.world.effects.keys()].filter(isRepeated(calm)).sort(),
    [...stormy.world.effects.keys()].filter(isRepeated(stormy)).sort(),
  )
  return faults
}

/** Returns the texts from the first difference on. */
function differenceOf(what: string, wanted: string, found: string): string {
  let start = 0
  while (start < wanted.length && wanted[start] === found[start]) start++
  const from = Math.max(0, start - 40)
  return `${what} is …${found.slice(from, start + 120)}… instead of …${wanted.slice(from, start + 120)}…`
}

function requestsOf({ world }: Life): readonly string[] {
  return [...world.requests].map(([place, request]) => `${place} ${request}`).sort()
}

/** Returns the compactions. If its process dies, a compaction after the last turn is left to the next turn. */
function compactions({ log }: Life): readonly string[] {
  const done = new Set(
    of(log, 'compaction-end')
      .filter(({ outcome }) => outcome === 'done')
      .map(({ compactionId }) => compactionId),
  )
  return of(log, 'compaction-start')
    .filter(({ compactionId, trigger }) => done.has(compactionId) && trigger !== 'threshold')
    .map(({ trigger }) => trigger)
}

function isRepeated({ world }: Life): (toolCallId: string) => boolean {
  return (toolCallId) => world.effects.get(toolCallId)?.toolName !== 'pay'
}

function foldOf(log: readonly AgentEvent[]): RunView['messages'] {
  return log.reduce<RunView>(reduceEvents, emptyView).messages
}

/**
 * Returns the parts of a conversation that a crash must not change. Leaves out whether a `once` call is known to have taken effect.
 */
function shapeOf(messages: readonly (StoredMessage | RunView['messages'][number])[]): readonly string[] {
  return messages.map((message) => {
    if (message.role === 'user') return `user ${JSON.stringify(message.content)}`
    if (message.role === 'assistant') return `assistant ${message.stopReason} ${message.modelId} ${JSON.stringify(message.content)}`
    if (message.toolName === 'pay') return message.toolCallId
    return `${message.toolCallId} ${'status' in message ? message.status : ''} ${JSON.stringify(message.output)}`
  })
}

function of<Type extends AgentEvent['type']>(log: readonly AgentEvent[], type: Type): readonly EventOf<Type>[] {
  return log.filter((event): event is EventOf<Type> => event.type === type)
}

function repeated(ids: readonly string[]): readonly string[] {
  return ids.filter((id, place) => ids.indexOf(id) !== place)
}
