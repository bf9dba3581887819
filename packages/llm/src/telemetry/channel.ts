import { definedOnly } from '../json.ts'
import type { AssistantMessage } from '../messages.ts'
import type { ErrorKind, ModelError } from '../model-error.ts'
import type { CallFacts, CallObserver } from './call-observer.ts'

/** What is known of a call after its end, without its content. */
export type CallResult = Pick<AssistantMessage, 'stopReason' | 'usage' | 'cost' | 'timing'>

/**
 * The context object of the tracing channel `bowline:llm`, the same one in all events of a call. `result` is there from
 * `asyncStart` on, after every kind of end; `error` from `error` on, only when the call has failed.
 */
export interface CallReport {
  readonly messageId: string
  readonly provider: string
  readonly modelId: string
  result?: CallResult
  error?: { readonly kind: ErrorKind; readonly retryable: boolean; readonly status?: number }
}

/** As much of Node's `TracingChannel` as is used here. */
interface TracingChannel {
  readonly hasSubscribers: boolean
  tracePromise(run: () => Promise<unknown>, context: CallReport): Promise<unknown>
}

let opened: { readonly channel: TracingChannel | undefined } | undefined

/** Publishes the call on the channel. `undefined` when nobody listens: who comes later hears of later calls only. */
export function channelObserver(facts: CallFacts): CallObserver | undefined {
  const { channel } = (opened ??= { channel: openChannel() })
  if (!channel?.hasSubscribers) return undefined
  const { messageId, provider, modelId } = facts
  const report: CallReport = { messageId, provider, modelId }
  const end = Promise.withResolvers<CallResult>()
  return {
    begin(call) {
      const run = (): Promise<CallResult> => {
        call()
        return end.promise
      }
      // The channel hands the failure on, after it has told its subscribers: there is nobody left to be told. A store
      // that is bound to the channel may throw before the promise has got there.
      end.promise.catch(() => {})
      channel.tracePromise(run, report).catch(() => {})
    },
    called() {},
    ended(message) {
      report.result = resultOf(message)
      if (message.error) end.reject(errorOf(message.error))
      else end.resolve(report.result)
    },
  }
}

/** Not imported by its name, because browsers do not have it. */
function openChannel(): TracingChannel | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(id: string): unknown } }
  const module = process?.getBuiltinModule?.('node:diagnostics_channel') as
    | { tracingChannel?(name: string): TracingChannel }
    | undefined
  return module?.tracingChannel?.('bowline:llm')
}

/** Copies, so that a subscriber can change nothing of the message. What a provider sent raw may hold anything. */
function resultOf({ stopReason, usage, cost, timing }: AssistantMessage): CallResult {
  const { raw: _raw, ...counts } = usage
  return { stopReason, usage: counts, ...definedOnly({ cost: cost && { ...cost } }), timing: { ...timing } }
}

function errorOf({ kind, retryable, status }: ModelError): NonNullable<CallReport['error']> {
  return { kind, retryable, ...definedOnly({ status }) }
}
