import { defineAgent, defineTool } from '@bowline/agent-loop'
import { scriptedModel, type Step } from '@bowline/llm/testing'
import { createRuntime, type LoggedEvent, type RunHandle } from '@bowline/sessions'
import { parsePartialJson, type UIMessage, type UIMessageChunk } from 'ai'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createRedaction } from '@bowline/llm'
import { randomRuns } from '../../../../scripts/test-length.ts'
import { TurnFold } from '../../src/chat/turn-fold.ts'
import { encodeJson } from '../../src/json.ts'
import { chunkFrames, chunksOf, framesSent, messageOf } from '../support/chat.ts'
import { localTool, remoteTool } from '../support/bench.ts'
import { collect } from '../support/frames.ts'

const failure = Object.assign(new Error('busy'), { statusCode: 529, responseBody: '', isRetryable: true })
const tools = [
  localTool('look', () => 'seen'),
  localTool('break', () => Promise.reject(new Error('broken'))),
  remoteTool('place'),
  { ...localTool('erase', () => 'erased'), needsApproval: true },
  defineTool({
    name: 'say',
    description: 'Says how far it is.',
    inputSchema: { type: 'object' },
    effect: 'pure',
    execute: (_input, { emit }) => {
      emit('so ')
      emit('far')
      return { output: { said: [1] } }
    },
  }),
]

const parts = [
  { type: 'source', sourceType: 'url', id: 's1', url: 'https://knots.example/', title: 'Knots' },
  { type: 'source', sourceType: 'document', id: 's2', mediaType: 'text/plain', title: 'Ropes', filename: 'ropes.txt' },
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'iVBORw0KGgo=' } },
  { type: 'tool-call', toolCallId: 'p1', toolName: 'search', input: '{"q":"knot"}', providerExecuted: true },
  { type: 'tool-result', toolCallId: 'p1', toolName: 'search', result: { hits: 3 } },
] as const satisfies Step['parts']

const text = fc.string({ unit: fc.constantFrom('a', 'ö', '🌍', ' ', '\n'), minLength: 1, maxLength: 12 })
const call = fc.record({
  name: fc.constantFrom(...tools.map(({ name }) => name), 'unknown'),
  input: fc.constantFrom<object>({}, {}, {}, { raw: '{"cut' }, { raw: '[]' }, { extra: 1 }),
})
const content = fc.record(
  {
    reasoning: text,
    text,
    chunk: fc.integer({ min: 1, max: 4 }),
    toolCalls: fc.array(call, { minLength: 1, maxLength: 3 }),
    parts: fc.constant([...parts]),
  },
  { requiredKeys: [] },
)
const attempt = fc.oneof(
  { weight: 4, arbitrary: content },
  { weight: 1, arbitrary: content.map((step) => ({ ...step, failAfter: { parts: 2, error: failure, as: 'part' as const } })) },
  { weight: 1, arbitrary: fc.constant({ error: failure }) },
)

/** Returns all events of a turn as a connected reader gets them, one list per segment. */
async function turnOf(steps: readonly object[], approves: boolean): Promise<readonly (readonly LoggedEvent[])[]> {
  const script = [...steps, { text: 'The end.' }] as readonly Step[]
  const model = scriptedModel((_call, index) => script[index] ?? { text: 'Behind the end.' })
  const retry = { maxRetries: 1, baseDelayMs: 0, jitter: 0 }
  const agent = defineAgent({ name: 'assistant', model, tools, retry, limits: { maxSteps: 6 } })
  const runtime = createRuntime({ agents: [agent] })
  await runtime.start()
  try {
    const session = runtime.session('s')
    const segments: (readonly LoggedEvent[])[] = []
    let run: RunHandle = await session.send('go')
    for (let cursor: string | undefined; ; cursor = segments.at(-1)?.at(-1)?.cursor) {
      segments.push(await collect(run.events(cursor === undefined ? {} : { cursor })))
      const info = await runtime.run(run.runId)
      const results = (info?.pendingToolCalls ?? []).map(({ toolCallId }) => ({ toolCallId, output: 'Oslo' }))
      if (results.length > 0) ({ run } = await session.submitToolResults(results))
      for (const { approvalId } of info?.pendingApprovals ?? []) await (approves ? session.approve(approvalId) : session.deny(approvalId))
      if (info?.endedAt !== undefined) return segments
    }
  } finally {
    await runtime.stop()
  }
}

const isDurable = (event: LoggedEvent): boolean => 'seq' in event && event.seq !== undefined

/** Returns the chunks that a stream sends to a page. Each is validated with the schema of the AI SDK. */
async function sent(events: readonly LoggedEvent[], knownUntil = 0): Promise<readonly UIMessageChunk[]> {
  return chunksOf(await framesSent(events, { sessionId: 's', runId: runIdOf(events), knownUntil }))
}

function runIdOf(events: readonly LoggedEvent[]): string {
  return events.flatMap((event) => ('runId' in event ? event.runId : []))[0] ?? ''
}

/** Returns the message of a page that has read every stream of the turn from its beginning. */
async function pageOf(segments: readonly (readonly LoggedEvent[])[]): Promise<UIMessage | undefined> {
  let message: UIMessage | undefined
  let known: readonly LoggedEvent[] = []
  for (const segment of segments) {
    const knownUntil = Number.parseInt(known.at(-1)?.cursor ?? '0', 10)
    message = await messageOf(await sent([...known.filter(isDurable), ...segment], knownUntil), message)
    known = [...known, ...segment]
  }
  return message
}

/**
 * Returns the events for a reader that reconnects after `place` events: the log, the deltas after its end, and all later events.
 */
function resumedAt(events: readonly LoggedEvent[], place: number, keepsDeltas: boolean): readonly LoggedEvent[] {
  const before = events.slice(0, place)
  const lastDurable = before.findLastIndex(isDurable)
  return [
    ...before.filter((event, index) => isDurable(event) || (keepsDeltas && index > lastDurable)),
    ...afterGap(events.slice(place), keepsDeltas),
  ]
}

/** If the first deltas of a part are missing, its other deltas are not sent either. */
function afterGap(events: readonly LoggedEvent[], keepsDeltas: boolean): readonly LoggedEvent[] {
  const next = keepsDeltas ? 0 : events.findIndex(isDurable)
  return next < 0 ? [] : events.slice(next)
}

/** Joins consecutive deltas of one part. */
function joined(events: readonly LoggedEvent[]): readonly LoggedEvent[] {
  const result: LoggedEvent[] = []
  for (const event of events) {
    const last = result.at(-1)
    const isSame = last && 'delta' in last && 'index' in last && 'index' in event && last.type === event.type && last.index === event.index
    if (isSame && 'delta' in event) result[result.length - 1] = { ...event, delta: last.delta + event.delta }
    else result.push(event)
  }
  return result
}

/** Returns the message of a page that has read the stream up to its last event. */
async function shownSoFar(events: readonly LoggedEvent[]): Promise<UIMessage | undefined> {
  const chunks = chunksOf(await chunkFrames(events, { sessionId: 's', runId: runIdOf(events) }))
  return chunks.length === 0 ? undefined : messageOf(chunks)
}

/**
 * Returns the message of a page that is loaded now. The input of an open call comes as text, which the page parses as far as it is
 * complete.
 */
async function loaded(events: readonly LoggedEvent[]): Promise<UIMessage | undefined> {
  const fold = new TurnFold({ sessionId: 's', runId: runIdOf(events) }, createRedaction())
  for (const event of events) fold.push(event)
  const message = fold.message && (JSON.parse(encodeJson(fold.message)) as UIMessage)
  for (const part of message?.parts ?? []) {
    if ('rawInput' in part && part.state === 'input-streaming')
      Object.assign(part, { input: (await parsePartialJson(String(part.rawInput))).value })
  }
  return message
}

/** Returns the message as JSON without trailing steps: the AI SDK shows a step only with its first part. */
function json(message: UIMessage | undefined): unknown {
  if (!message) return null
  const end = message.parts.findLastIndex(({ type }) => type !== 'step-start') + 1
  return JSON.parse(JSON.stringify({ ...message, parts: message.parts.slice(0, end) }))
}

it('V101: a message loaded at any moment equals what its page showed, and grows to what the undisturbed page shows', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(attempt, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
      async (steps, approves, places) => {
        const segments = await turnOf(steps, approves)
        const all = segments.flat()
        for (const place of places) {
          const seen = all.slice(0, place % (all.length + 1))
          const shown = json(await shownSoFar(seen))
          expect(json(await loaded(resumedAt(seen, seen.length, true)))).toEqual(shown)
        }
        // A page that is reloaded each time the turn waits for it, and then answers.
        let known: readonly LoggedEvent[] = []
        let message: UIMessage | undefined
        for (const segment of segments) {
          const knownUntil = Number.parseInt(known.at(-1)?.cursor ?? '0', 10)
          message = await messageOf(
            await sent([...known.filter(isDurable), ...segment], knownUntil),
            message && (await loaded(known.filter(isDurable))),
          )
          known = [...known, ...segment]
        }
        expect(json(message)).toEqual(json(await pageOf(segments)))
        expect(json(await loaded(all.filter(isDurable)))).toEqual(json(message))
      },
    ),
    randomRuns(12),
  )
})

it('V49: whatever a turn does and wherever a page resumes, it reads the same message as the page that was there', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(attempt, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      fc.array(fc.nat(), { minLength: 3, maxLength: 3 }),
      async (steps, approves, places) => {
        const segments = await turnOf(steps, approves)
        for (let count = 1; count <= segments.length; count++) {
          const known = segments.slice(0, count)
          const page = JSON.stringify(await pageOf(known))
          const all = known.flat()
          const ways = [
            ...places.flatMap((place) => [true, false].map((keeps) => resumedAt(all, place % (all.length + 1), keeps))),
            joined(all),
            all.filter(isDurable),
          ]
          for (const events of ways) expect(JSON.stringify(await messageOf(await sent(events)))).toBe(page)
        }
      },
    ),
    randomRuns(12),
  )
})
