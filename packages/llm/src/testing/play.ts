import type { LanguageModelV4StreamPart } from '@ai-sdk/provider'
import type { Clock } from '../clock.ts'
import { isPart, type ScriptItem } from './script.ts'
import type { Action } from './step.ts'

/** Plays a script as a stream that produces a part only on demand. An abort ends it immediately. */
export function play(
  script: readonly ScriptItem[],
  clock: Clock,
  abortSignal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  let place = 0
  let ended = false
  let stopWaiting: (() => void) | undefined
  let onAbort: (() => void) | undefined

  const end = (): void => {
    ended = true
    stopWaiting?.()
    if (onAbort) abortSignal?.removeEventListener('abort', onAbort)
  }

  const perform = (action: Action, controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): Promise<void> | void => {
    if ('throw' in action) {
      end()
      return controller.error(action.throw)
    }
    if ('close' in action) {
      end()
      return controller.close()
    }
    return new Promise((resolve) => {
      stopWaiting = resolve
      if ('sleep' in action) {
        const cancel = clock.setTimer(clock.now() + action.sleep, resolve, { hold: true })
        stopWaiting = () => (cancel(), resolve())
      } else if ('wait' in action) {
        action.wait.then(
          () => resolve(),
          (error: unknown) => (controller.error(error), end()),
        )
      }
    })
  }

  const pull = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): Promise<void> | void => {
    if (ended) return
    const item = script[place++]
    if (item === undefined) return perform({ close: true }, controller)
    if (isPart(item)) return controller.enqueue(item)
    const done = perform(item, controller)
    return done ? done.then(() => pull(controller)) : undefined
  }

  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      start(controller) {
        onAbort = () => {
          end()
          controller.error(abortSignal?.reason)
        }
        if (abortSignal?.aborted) onAbort()
        else abortSignal?.addEventListener('abort', onAbort)
      },
      pull,
      cancel: end,
    },
    { highWaterMark: 0 },
  )
}
