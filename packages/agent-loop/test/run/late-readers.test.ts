import { randomRuns } from '../../../../scripts/test-length.ts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isDelta } from '../../src/events/kinds.ts'
import type { AgentEvent, DeltaEvent } from '../../src/events/agent-event.ts'
import type { ToolExecutionDeltaEvent } from '../../src/events/tool-events.ts'
import { EventLog } from '../../src/run/event-log.ts'
import type { Reader } from '../../src/run/reader.ts'
import { discarded, savePoint, textDelta, toolDelta, toolEnd } from '../support/events.ts'

const step = { at: 0, runId: 'r', turn: 1, step: 1 } as const
const block = { ...step, messageId: 'm' } as const
const toolCall = { type: 'tool-call', toolCallId: 'c', toolName: 't', input: { a: 1 } } as const

const start = (index: number): DeltaEvent => ({ ...block, type: 'text-start', index })
const text = (index: number, delta: string): DeltaEvent => ({ ...block, type: 'text-delta', index, delta })
const end = (index: number, whole: string): DeltaEvent => ({ ...block, type: 'text-end', index, text: whole })
const part: DeltaEvent = {
  ...block,
  type: 'content-part',
  index: 2,
  part: { type: 'file', mediaType: 'text/plain', data: { type: 'url', url: 'https://example.com/x' } },
}
const callStart: DeltaEvent = { ...block, type: 'tool-call-start', index: 1, toolCallId: 'c', toolName: 't' }
const callDelta = (delta: string): DeltaEvent => ({ ...block, type: 'tool-call-delta', index: 1, toolCallId: 'c', delta })
const callEnd: DeltaEvent = { ...block, type: 'tool-call-end', index: 1, toolCallId: 'c', toolCall }

function publish(log: EventLog, ...deltas: readonly DeltaEvent[]): void {
  for (const delta of deltas) log.publish(delta)
}

async function take(reader: Reader, count: number): Promise<readonly (AgentEvent | undefined)[]> {
  const events: (AgentEvent | undefined)[] = []
  for (let taken = 0; taken < count; taken++) events.push((await reader.next()).value)
  return events
}

/** Creates a log that keeps its deltas as events, or as the text so far. */
function logWith(isKept: boolean): EventLog {
  const log = new EventLog()
  if (isKept) void log.read().next()
  return log
}

describe.each([
  ['while nothing reads', false],
  ['beside another reader', true],
])('a reader that comes late, %s', (_, isKept) => {
  it('A18: gets each block so far in one delta, then live deltas one by one', async () => {
    const log = logWith(isKept)
    log.append([savePoint(1)])
    publish(
      log,
      start(0),
      text(0, 'a'),
      text(0, 'b'),
      end(0, 'ab'),
      callStart,
      callDelta('{"a"'),
      callDelta(':1}'),
      callEnd,
      part,
      start(3),
      text(3, 'c'),
    )
    log.append([savePoint(2)])
    publish(log, text(3, 'd'))
    const late = log.read()
    const soFar = [start(0), text(0, 'ab'), end(0, 'ab'), callStart, callDelta('{"a":1}'), callEnd, part, start(3), text(3, 'cd')]
    expect(await take(late, 11)).toEqual([savePoint(1), savePoint(2), ...soFar])
    const asked = late.next()
    publish(log, text(3, 'e'), text(3, 'f'))
    expect([(await asked).value, ...(await take(late, 1))]).toEqual([text(3, 'e'), text(3, 'f')])
  })

  it('A18: gets the output so far of each running call in one delta', async () => {
    const log = logWith(isKept)
    publish(log, toolDelta('a', 'a1'), toolDelta('b', 'b1'), toolDelta('a', 'a2'), toolDelta('gone', 'x'))
    log.append([toolEnd('gone', 1)])
    publish(log, toolDelta('b', 'b2'))
    expect(await take(log.read(), 3)).toEqual([toolEnd('gone', 1), toolDelta('a', 'a1a2'), toolDelta('b', 'b1b2')])
  })

  it('A18: gets the text of a call that was restarted since then', async () => {
    const log = logWith(isKept)
    publish(log, toolDelta('a', 'old'), { ...toolDelta('a', 'new'), replace: true } as DeltaEvent)
    const replaced = { ...toolDelta('a', 'new'), replace: true }
    expect(await take(log.read(), 1)).toEqual([replaced])
    publish(log, toolDelta('a', 'er'))
    expect(await take(log.read(), 1)).toEqual([{ ...replaced, delta: 'newer' }])
  })

  it('A18: gets one part in place of the block that it replaced', async () => {
    const log = logWith(isKept)
    publish(log, { ...start(2) }, text(2, 'a'), part)
    const late = log.read()
    expect(await take(late, 1)).toEqual([part])
    log.close()
    expect((await late.next()).done).toBe(true)
  })

  it('A18: skips a message that is closed before the reader reaches it', async () => {
    const log = logWith(isKept)
    log.append([savePoint(1)])
    publish(log, start(0), text(0, 'a'), toolDelta('c', 'b'))
    const late = log.read()
    const first = await take(late, 1)
    log.append([discarded('m', 2)])
    publish(log, textDelta('n', 'd'))
    log.close()
    expect([...first, ...(await take(late, 4))]).toEqual([
      savePoint(1),
      toolDelta('c', 'b'),
      discarded('m', 2),
      textDelta('n', 'd'),
      undefined,
    ])
  })

  it('A18: also gets what has come since the latest late reader', async () => {
    const log = logWith(isKept)
    publish(log, text(0, 'a'), text(0, 'b'))
    for (const [more, soFar] of [
      ['c', 'ab'],
      ['d', 'abc'],
      ['e', 'abcd'],
    ] as const) {
      expect(await take(log.read(), 1)).toEqual([text(0, soFar)])
      publish(log, text(0, more))
    }
  })

  it('A18: gets frozen events', async () => {
    const log = logWith(isKept)
    publish(log, text(0, 'a'), text(0, 'b'))
    expect((await take(log.read(), 1)).every(Object.isFrozen)).toBe(true)
  })
})

type Spoken = Extract<DeltaEvent, { delta: string }>

interface Move {
  readonly kind: 'message' | 'commit' | 'come' | 'close-message' | 'call' | 'close-call' | 'ask' | 'leave'
  readonly call: number
  readonly replace: boolean
  readonly reader: number
}

const move: fc.Arbitrary<Move> = fc.record({
  kind: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('message', 'message', 'message', 'commit', 'come', 'close-message') },
    { weight: 6, arbitrary: fc.constantFrom('call', 'call', 'call', 'close-call') },
    { weight: 8, arbitrary: fc.constantFrom('ask', 'ask', 'ask', 'ask', 'ask', 'leave') },
  ),
  call: fc.nat(2),
  replace: fc.boolean(),
  reader: fc.nat(4),
})

/** Compares what a reader knows with what was written: for open blocks the whole text, for closed ones a beginning of it. */
class Watched {
  readonly seqs: number[] = []
  readonly texts = new Map<string, string>()
  readonly #said: ReadonlyMap<string, string>
  readonly reader: Reader

  constructor(reader: Reader, said: ReadonlyMap<string, string>) {
    this.reader = reader
    this.#said = said
  }

  readonly take = (result: IteratorResult<AgentEvent, undefined>): void => {
    if (result.done) return
    const event = result.value
    if (!isDelta(event)) return void this.seqs.push(event.seq ?? 0)
    if (!('delta' in event)) return
    const id = 'messageId' in event ? event.messageId : event.toolCallId
    const before = 'replace' in event ? '' : (this.texts.get(id) ?? '')
    this.texts.set(id, before + event.delta)
    if ('messageId' in event) expect(this.#said.get(id)?.startsWith(before + event.delta)).toBe(true)
  }
}

/** Plays the moves on one log, with as many readers as they add. */
async function play(moves: readonly Move[]): Promise<void> {
  const log = new EventLog()
  const said = new Map<string, string>()
  const open = new Set<string>()
  const readers: Watched[] = []
  let [seq, pieces, messages] = [0, 0, 0]
  const calls = [0, 0, 0]
  const say = (delta: Spoken, id: string): void => {
    said.set(id, ('replace' in delta ? '' : (said.get(id) ?? '')) + delta.delta)
    open.add(id)
    log.publish(delta)
  }
  const play: Readonly<Record<Move['kind'], (move: Move) => void>> = {
    message: () => say(textDelta(`m${messages}`, `<${pieces++}>`) as Spoken, `m${messages}`),
    commit: () => log.append([savePoint(++seq), savePoint(++seq)]),
    come: () => void readers.push(new Watched(log.read(), said)),
    'close-message': () => {
      open.delete(`m${messages}`)
      log.append([discarded(`m${messages++}`, ++seq)])
    },
    call: ({ call, replace }) => {
      const id = `c${call}.${calls[call] ?? 0}`
      const delta = toolDelta(id, `<${pieces++}>`) as ToolExecutionDeltaEvent
      say(replace ? { ...delta, replace } : delta, id)
    },
    'close-call': ({ call }) => {
      const id = `c${call}.${calls[call] ?? 0}`
      calls[call] = (calls[call] ?? 0) + 1
      open.delete(id)
      log.append([savePoint(++seq), toolEnd(id, ++seq)])
    },
    ask: ({ reader }) => void readers[reader]?.reader.next().then(readers[reader].take),
    leave: ({ reader }) => void (reader === 0 && readers[0]?.reader.return()),
  }
  for (const each of moves) {
    play[each.kind](each)
    // Now and then, gives readers time to take the events.
    if (pieces % 3 === 0) await Promise.resolve()
  }
  log.close()
  const left = moves.some((each) => each.kind === 'leave' && each.reader === 0)
  for (const [index, watched] of readers.entries()) {
    if (index === 0 && left) continue
    for await (const event of watched.reader) watched.take({ done: false, value: event })
    expect(watched.seqs).toEqual(Array.from({ length: seq }, (_, place) => place + 1))
    for (const id of open) expect(watched.texts.get(id)).toBe(said.get(id))
  }
  expect(log.length).toBeLessThanOrEqual(seq + pieces)
}

describe('readers at every position', () => {
  it('A17, A18: see every durable event once, and the whole text of open messages', async () => {
    await fc.assert(fc.asyncProperty(fc.array(move, { maxLength: 100, size: 'max' }), play), randomRuns(300))
  })
})
