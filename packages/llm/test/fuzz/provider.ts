import type { UnderlyingSource } from 'node:stream/web'
import type { Clock, LanguageModelV4, LanguageModelV4StreamPart } from '../../src/index.ts'
import { rawModel } from '../support.ts'

/** Next step of a provider: sends a part, or pauses. */
export type Item = { readonly part: unknown } | { readonly sleepMs: number }

export interface ProviderPlan {
  readonly items: readonly Item[]
  /** Action after the items. */
  readonly ends: 'close' | 'throw' | 'hang'
  readonly opens: 'at once' | 'late' | 'rejects' | 'throws' | 'never' | 'with nothing' | 'locked'
  readonly heedsAbort: boolean
  readonly onCancel: 'settles' | 'rejects' | 'hangs' | 'throws'
  /** `pull` sends parts on demand, `piped` reads one part ahead as real clients do, `eager` sends everything at once. */
  readonly shape: 'pull' | 'piped' | 'eager'
  readonly error: unknown
}

export interface Seen {
  calls: number
  /** Parts handed out. Unless the shape is `pull`, not all of them have been read. */
  readonly taken: unknown[]
  /** Whether a stream was handed out, and whether it ended by itself or was cancelled. */
  opened: boolean
  ended: boolean
  cancelled: boolean
  signal: AbortSignal | undefined
}

export interface Provider {
  readonly model: LanguageModelV4
  readonly seen: Seen
}

const openingMs = 30

/** Creates a provider that follows the plan and records how it is used. Its timers use the given clock. */
export function planned(plan: ProviderPlan, clock: Clock): Provider {
  const seen: Seen = { calls: 0, taken: [], opened: false, ended: false, cancelled: false, signal: undefined }
  const open = (): { stream: ReadableStream<LanguageModelV4StreamPart> } => {
    seen.opened = true
    const stream = streamOf(plan, clock, seen)
    if (plan.opens === 'locked') stream.getReader()
    return { stream }
  }
  const model = rawModel((call) => {
    seen.calls += 1
    seen.signal = call.abortSignal
    switch (plan.opens) {
      case 'at once':
      case 'locked':
        return Promise.resolve(open())
      case 'late':
        return new Promise((resolve) => clock.setTimer(clock.now() + openingMs, () => resolve(open())))
      case 'rejects':
        return rejecting(plan.error)
      case 'throws':
        throw plan.error
      case 'never':
        return new Promise(() => {})
      case 'with nothing':
        return Promise.resolve(undefined as never)
    }
  })
  return { model, seen }
}

function streamOf(plan: ProviderPlan, clock: Clock, seen: Seen): ReadableStream<LanguageModelV4StreamPart> {
  let place = 0
  let stopSleeping = (): void => {}
  const source: UnderlyingSource<LanguageModelV4StreamPart> = {
    start(controller) {
      const { signal } = seen
      if (!plan.heedsAbort || !signal) return
      const onAbort = (): void => {
        if (seen.ended || seen.cancelled) return
        seen.ended = true
        stopSleeping()
        controller.error(signal.reason)
      }
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
    },
    async pull(controller) {
      for (let item = plan.items[place++]; item && !seen.ended && !seen.cancelled; item = plan.items[place++]) {
        if ('part' in item) {
          seen.taken.push(item.part)
          return controller.enqueue(item.part as LanguageModelV4StreamPart)
        }
        const { sleepMs } = item
        await new Promise<void>((resolve) => {
          const cancel = clock.setTimer(clock.now() + sleepMs, resolve)
          stopSleeping = () => (cancel(), resolve())
        })
      }
      if (seen.ended || seen.cancelled) return
      if (plan.ends === 'hang') return new Promise(() => {})
      seen.ended = true
      if (plan.ends === 'close') controller.close()
      else controller.error(plan.error)
    },
    cancel() {
      seen.cancelled = true
      stopSleeping()
      if (plan.onCancel === 'throws') throw plan.error
      if (plan.onCancel === 'rejects') return rejecting(plan.error)
      return plan.onCancel === 'hangs' ? new Promise(() => {}) : undefined
    },
  }
  const stream = new ReadableStream(source, { highWaterMark: plan.shape === 'eager' ? 1_000 : 0 })
  return plan.shape === 'piped' ? stream.pipeThrough(new TransformStream()) : stream
}

/** Rejects with any value, as providers may. */
async function rejecting(error: unknown): Promise<never> {
  throw error
}
