import type { Readable, Writable } from 'node:stream'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { BrokenFrame } from './broken-frame.ts'
import { readLines } from './lines.ts'

const maxLineBytes = 4 * 1024 * 1024

/** Messages of one worker process, for the connection of the SDK. */
export interface Wire {
  readonly stream: Stream
  /** Whether reading is paused because an update has not been processed yet. */
  readonly stalled: boolean
}

/**
 * Passes updates to `onUpdate` instead of the SDK's connection. The connection would read on without waiting, and would not keep
 * updates before the response that ends their prompt. While the promise of `onUpdate` is pending, nothing is read. Anything that is
 * not a JSON-RPC message ends the stream with a `BrokenFrame`.
 */
export function openWire(stdout: Readable, stdin: Writable, onUpdate: (params: unknown, bytes: number) => Promise<void> | undefined): Wire {
  const asked = new Set<unknown>()
  let stalled = false

  async function* messages(): AsyncGenerator<AnyMessage> {
    for await (const line of readLines(stdout, maxLineBytes)) {
      const message = messageOf(line, asked)
      if (message === undefined) continue
      if ('method' in message && message.method === 'session/update' && !('id' in message)) {
        const taken = onUpdate(message.params, line.length)
        stalled = taken !== undefined
        await taken
        stalled = false
      } else {
        yield message
      }
    }
  }

  // The end of a worker shows on its stdout, so write errors can be ignored.
  stdin.on('error', () => {})
  return {
    stream: {
      readable: streamOf(messages()),
      writable: new WritableStream<AnyMessage>({
        write: (message) => {
          if ('method' in message && 'id' in message) asked.add(message.id)
          return writeLine(stdin, message)
        },
      }),
    },
    get stalled() {
      return stalled
    },
  }
}

/** Pulls a message only when the consumer asks for one: highWaterMark is 0. */
function streamOf(messages: AsyncGenerator<AnyMessage>): ReadableStream<AnyMessage> {
  return new ReadableStream<AnyMessage>(
    {
      async pull(controller) {
        const step = await messages.next()
        if (step.done) controller.close()
        else controller.enqueue(step.value)
      },
      cancel: () => void messages.return(undefined),
    },
    { highWaterMark: 0 },
  )
}

function writeLine(stdin: Writable, message: AnyMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    stdin.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve()))
  })
}

/** Returns undefined for an empty line. */
function messageOf(line: Buffer, asked: Set<unknown>): AnyMessage | undefined {
  const text = line.toString('utf8').trim()
  if (text === '') return undefined
  const message = parsed(text)
  if (!isMessage(message, asked)) throw new BrokenFrame('JSON that is not a message')
  return message
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BrokenFrame('a line that is not JSON')
  }
}

/** A response must match a pending request, and only once. */
function isMessage(value: unknown, asked: Set<unknown>): value is AnyMessage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const frame = value as Readonly<Record<string, unknown>>
  if (frame['jsonrpc'] !== '2.0') return false
  const { id, method } = frame
  if ('method' in frame) return typeof method === 'string' && (!('id' in frame) || isId(id))
  return 'result' in frame !== 'error' in frame && asked.delete(id)
}

function isId(value: unknown): boolean {
  return value === null || typeof value === 'string' || typeof value === 'number'
}
