import type { BlockEvent, MessageEvent, MessageStream } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { copyJson, isRecord } from '../../base/json.ts'
import { isAssistantPart } from '../../base/messages.ts'
import { DeltaPublisher, failedAnswer } from '../../kernel/model-call.ts'
import type { ModelAnswer } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { invalidAnswer, readAnswer } from './function-answers.ts'

interface Reading {
  /** True: the stream is not read any more. */
  left: boolean
}

/**
 * Reads the stream that a model function returned. At an abort the stream is told to end. If it has not ended by the deadline of
 * the run, it is not read any more. Rejects in that case, and if the stream breaks.
 */
export function readFunctionStream(turn: Turn, stream: MessageStream): Promise<ModelAnswer> {
  const { stop, clock } = turn
  const reading: Reading = { left: false }
  let cancelTimer = (): void => undefined
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      reading.left = true
      reject(stop.signal.reason as Error)
    }
    const onAbort = (): void => {
      cancelTimer = clock.setTimer(turn.stopDeadline ?? clock.now(), leave)
      tellToEnd(stream, (stop.signal.reason as Error).message)
    }
    const forget = stop.onStop(onAbort)
    const behind =
      <Result>(settle: (result: Result) => void) =>
      (result: Result): void => {
        cancelTimer()
        forget()
        settle(result)
      }
    // The function itself may have stopped the run before the listener was added.
    if (stop.requested) onAbort()
    read(turn, stream, reading).then(behind(resolve), behind(reject))
  })
}

function tellToEnd(stream: Partial<MessageStream>, reason: string): void {
  try {
    stream.abort?.(reason)
  } catch {
    // A failed abort changes nothing: reading stops when the grace is over.
  }
}

async function read(turn: Turn, stream: AsyncIterable<MessageEvent>, reading: Reading): Promise<ModelAnswer> {
  const publisher = new DeltaPublisher(turn)
  const blocks = new FunctionBlocks()
  // A value from the stream is not yet known to be an event.
  for await (const event of stream as AsyncIterable<MessageEvent | null | undefined>) {
    if (reading.left) break
    if (event?.type === 'message-end') return publisher.named(readAnswer(turn, event.message))
    if (event?.type === 'message-start') continue
    const objection = blocks.objectionTo(event)
    if (objection !== undefined) return invalidAnswer(turn, objection)
    publisher.publish(event as BlockEvent)
  }
  return failedAnswer(turn, {
    kind: 'stream-broken',
    retryable: true,
    phase: 'after-output',
    message: 'the stream of the model function ended without its last event',
  })
}

/** The fields of each event type that must be texts. */
const textFields: Readonly<Record<BlockEvent['type'], readonly string[]>> = {
  'text-start': [],
  'text-delta': ['delta'],
  'text-end': ['text'],
  'reasoning-start': [],
  'reasoning-delta': ['delta'],
  'reasoning-end': ['text'],
  'tool-call-start': ['toolCallId', 'toolName'],
  'tool-call-delta': ['delta'],
  'tool-call-end': [],
  'content-part': [],
}

const kindsOfDeltas: ReadonlyMap<unknown, string> = new Map([
  ['text-delta', 'text'],
  ['reasoning-delta', 'reasoning'],
  ['tool-call-delta', 'tool-call'],
])

const notWhole: ReadonlySet<string> = new Set(['text', 'reasoning', 'tool-call'])

/** Checks the blocks of a stream that a model function has made: readers must be able to rely on their order. */
class FunctionBlocks {
  /** Kinds of blocks by index; undefined once the block has ended. */
  readonly #kinds: (string | undefined)[] = []

  /** Returns why an event may not come next, or undefined if it may. */
  objectionTo(event: unknown): string | undefined {
    return this.#isDelta(event) ? undefined : this.#objectionTo(event)
  }

  /** Returns whether the event is a delta of an open block, as nearly all events are. */
  #isDelta(event: unknown): boolean {
    if (typeof event !== 'object' || event === null) return false
    const { type, index, delta } = event as { readonly type?: unknown; readonly index?: unknown; readonly delta?: unknown }
    const kind = kindsOfDeltas.get(type)
    return kind !== undefined && typeof delta === 'string' && typeof index === 'number' && this.#kinds[index] === kind
  }

  #objectionTo(event: unknown): string | undefined {
    if (!isRecord(event) || typeof event['type'] !== 'string' || !Object.hasOwn(textFields, event['type']))
      return 'its stream has an event of an unknown type'
    const type = event['type'] as BlockEvent['type']
    const wrong = textFields[type].find((field) => typeof event[field] !== 'string')
    if (wrong !== undefined) return `its stream has a ${type} whose ${wrong} is not a text`
    return type === 'content-part' ? this.#part(event) : this.#block(type, event)
  }

  #part({ index, part }: Readonly<Record<string, unknown>>): string | undefined {
    if (!isAssistantPart(part) || notWhole.has(part.type)) return 'its stream has an invalid content-part'
    if (!this.#isKnown(index) && index !== this.#kinds.length) return `its stream has a content-part with the wrong index ${String(index)}`
    if (index === this.#kinds.length) this.#kinds.push(undefined)
    return objectionToJson(part)
  }

  #block(type: Exclude<BlockEvent['type'], 'content-part'>, { index, toolCall }: Readonly<Record<string, unknown>>): string | undefined {
    const place = type.lastIndexOf('-')
    const [kind, stage] = [type.slice(0, place), type.slice(place + 1)]
    if (stage === 'start') {
      if (index !== this.#kinds.length) return `its stream has a ${type} with the wrong index ${String(index)}`
      this.#kinds.push(kind)
      return undefined
    }
    if (!this.#isKnown(index) || this.#kinds[index] !== kind) return `its stream has a ${type} without its start`
    if (stage === 'delta') return undefined
    this.#kinds[index] = undefined
    if (kind !== 'tool-call') return undefined
    return isAssistantPart(toolCall) && toolCall.type === 'tool-call'
      ? objectionToJson(toolCall)
      : 'its stream has a tool-call-end without a call'
  }

  #isKnown(index: unknown): index is number {
    return typeof index === 'number' && Number.isInteger(index) && index >= 0 && index < this.#kinds.length
  }
}

function objectionToJson(value: unknown): string | undefined {
  try {
    copyJson(value)
    return undefined
  } catch (error) {
    return `its stream has an event that is not JSON: ${messageOf(error)}`
  }
}
