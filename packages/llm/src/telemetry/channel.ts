import { definedOnly } from '../json.ts'
import type { AssistantMessage } from '../messages.ts'
import type { ErrorKind, ModelError } from '../model-error.ts'
import type { CallFacts, CallObserver } from './call-observer.ts'

/** Result of a call, without its content. */
export type CallResult = Pick<AssistantMessage, 'stopReason' | 'usage' | 'cost' | 'timing'>

/**
 * Context object of the tracing channel `bowline:llm`; all events of a call share it. `result` is set from `asyncStart` on, after
 * every kind of end. `error` is set from `error` on, only if the call failed.
 */
export interface CallReport {
  readonly messageId: string
  readonly provider: string
  readonly modelId: string
  result?: CallResult
  error?: { readonly kind: ErrorKind; readonly retryable: boolean; readonly status?: number }
}

/** The part of Node's `TracingChannel` that is used here. */
interface TracingChannel {
  readonly hasSubscribers: boolean
  tracePromise(run: () => Promise<unknown>, context: CallReport): Promise<unknown>
}

let opened: { readonly channel: TracingChannel | undefined } | undefined

/** Publishes the call on the channel. Returns `undefined` if there are no subscribers; later subscribers get later calls only. */
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
      // The channel rethrows the failure after notifying its subscribers, so it can be ignored. A store bound to the channel may
      // throw before the promise gets there.
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

/** Not imported by name, because browsers do not have the module. */
function openChannel(): TracingChannel | undefined {
  const { process } = globalThis as { process?: { getBuiltinModule?(id: string): unknown } }
  const module = process?.getBuiltinModule?.('node:diagnostics_channel') as { tracingChannel?(name: string): TracingChannel } | undefined
  return module?.tracingChannel?.('bowline:llm')
}

/** Copies the result, so that subscribers cannot change the message. Omits the provider's raw usage, which may contain anything. */
function resultOf({ stopReason, usage, cost, timing }: AssistantMessage): CallResult {
  const { raw: _raw, ...counts } = usage
  return { stopReason, usage: counts, ...definedOnly({ cost: cost && { ...cost } }), timing: { ...timing } }
}

function errorOf({ kind, retryable, status }: ModelError): NonNullable<CallReport['error']> {
  return { kind, retryable, ...definedOnly({ status }) }
}
