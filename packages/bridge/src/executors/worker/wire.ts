import type { Readable, Writable } from 'node:stream'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { BrokenFrame } from './broken-frame.ts'
import { readLines } from './lines.ts'

const maxLineBytes = 4 * 1024 * 1024

/** The messages of one worker process, for the connection of the SDK. */
export interface Wire {
  readonly stream: Stream
  /** Nothing is read because an update has not been taken yet. */
  readonly stalled: boolean
}

/**
 * Updates go to `onUpdate` and not through the connection, which would read on without waiting and would not keep them
 * before the answer that ends their prompt. While its promise is open nothing is read. Anything that is no message of
 * JSON-RPC ends the stream with a `BrokenFrame`.
 */
export function openWire(
  stdout: Readable,
  stdin: Writable,
  onUpdate: (params: unknown, bytes: number) => Promise<void> | undefined,
): Wire {
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

  // A worker that has ended is told by its stdout; what could not be written to it is nobody's news.
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

/** Asks for the next message only when somebody wants it: the highWaterMark of 0. */
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

/** Undefined for an empty line. */
function messageOf(line: Buffer, asked: Set<unknown>): AnyMessage | undefined {
  const text = line.toString('utf8').trim()
  if (text === '') return undefined
  const message = parsed(text)
  if (!isMessage(message, asked)) throw new BrokenFrame('JSON that is no message')
  return message
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new BrokenFrame('a line that is not JSON')
  }
}

/** An answer must be to something that was asked, and only once. */
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
