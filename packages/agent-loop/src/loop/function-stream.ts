import type { MessageEvent, MessageStream } from '@bowline/llm'
import type { ModelAnswer } from './answer.ts'
import { CallIds } from './call-ids.ts'
import { DeltaPublisher } from './delta-publisher.ts'
import { failedAnswer } from './failed-answer.ts'
import { readAnswer } from './function-answers.ts'
import type { Turn } from './turn.ts'

interface Reading {
  /** Nobody waits for the stream any more. */
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
      if ('abort' in stream) stream.abort((stop.signal.reason as Error).message)
      cancelTimer = clock.setTimer(turn.stopDeadline ?? clock.now(), leave)
    }
    const forget = stop.onStop(onAbort)
    const behind = <Result>(settle: (result: Result) => void) => (result: Result): void => {
      cancelTimer()
      forget()
      settle(result)
    }
    read(turn, stream, reading).then(behind(resolve), behind(reject))
    if (stop.requested) onAbort()
  })
}

async function read(turn: Turn, stream: AsyncIterable<MessageEvent>, reading: Reading): Promise<ModelAnswer> {
  const calls = new CallIds(turn.transcript)
  const publisher = new DeltaPublisher(turn, calls)
  for await (const event of stream) {
    if (reading.left) break
    if (event.type === 'message-end') return calls.renamed(readAnswer(turn, event.message))
    if (event.type !== 'message-start') publisher.publish(event)
  }
  return failedAnswer(turn, { kind: 'stream-broken', retryable: true, phase: 'after-output', message: 'the stream of the model function ended without its last event' })
}
