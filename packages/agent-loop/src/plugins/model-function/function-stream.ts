import type { BlockEvent, MessageEvent, MessageStream } from '@bowline/llm'
import type { ModelAnswer } from '../../kernel/answer.ts'
import { DeltaPublisher, failedAnswer } from '../../kernel/model-call.ts'
import type { Turn } from '../../kernel/turn.ts'
import { invalidAnswer, readAnswer } from './function-answers.ts'
import { FunctionBlocks } from './function-blocks.ts'

interface Reading {
  /** The stream is not read any more. */
  left: boolean
}

/**
 * Reads the stream that a model function returned. At an abort it is told to end, and left when it has not ended by the
 * time by which the run must have. Rejects when it is left, and when it breaks.
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
    const behind = <Result>(settle: (result: Result) => void) => (result: Result): void => {
      cancelTimer()
      forget()
      settle(result)
    }
    // The function may have stopped the run itself; what its stream does later is told to the listener.
    if (stop.requested) onAbort()
    read(turn, stream, reading).then(behind(resolve), behind(reject))
  })
}

function tellToEnd(stream: Partial<MessageStream>, reason: string): void {
  try {
    stream.abort?.(reason)
  } catch {
    // A failed abort changes nothing: the stream is left when the grace is over.
  }
}

async function read(turn: Turn, stream: AsyncIterable<MessageEvent>, reading: Reading): Promise<ModelAnswer> {
  const publisher = new DeltaPublisher(turn)
  const blocks = new FunctionBlocks()
  // What it yields is not known to be an event yet.
  for await (const event of stream as AsyncIterable<MessageEvent | null | undefined>) {
    if (reading.left) break
    if (event?.type === 'message-end') return publisher.named(readAnswer(turn, event.message))
    if (event?.type === 'message-start') continue
    const objection = blocks.objectionTo(event)
    if (objection !== undefined) return invalidAnswer(turn, objection)
    publisher.publish(event as BlockEvent)
  }
  return failedAnswer(turn, { kind: 'stream-broken', retryable: true, phase: 'after-output', message: 'the stream of the model function ended without its last event' })
}
