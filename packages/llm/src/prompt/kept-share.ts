import type { AssistantMessage, ToolCallPart } from '../messages.ts'
import type { HistoryOptions } from './options.ts'

/** Share of an assistant message to send. If the message was cut short, at most its text and answered calls (`settled`). */
export type KeptShare = 'whole' | 'settled' | 'nothing'

interface AnsweredCall {
  readonly part: ToolCallPart
  readonly result: object | undefined
}

export function isCutShort({ stopReason }: AssistantMessage): boolean {
  return stopReason === 'aborted' || stopReason === 'error'
}

export function keptShare(
  message: AssistantMessage,
  calls: readonly (AnsweredCall | undefined)[],
  history: HistoryOptions = {},
): KeptShare {
  switch (message.stopReason) {
    case 'aborted':
      return history.aborted === 'drop' ? 'nothing' : 'settled'
    case 'error':
      return history.errored === 'keep' || calls.some((call) => call?.result) ? 'settled' : 'nothing'
    default:
      return 'whole'
  }
}

/** Returns the calls of a message to send, by their positions in the content. */
export function keptCalls<C extends AnsweredCall>(share: KeptShare, calls: readonly (C | undefined)[]): readonly (C | undefined)[] {
  if (share === 'whole') return calls
  return calls.map((call) => (share === 'settled' && call?.result && !call.part.invalid ? call : undefined))
}
