import { deepFreeze } from '../base/json.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { StoredMessage } from '../contract/journal.ts'
import type { InputVerdict } from '../plugins/extensions/verdicts.ts'
import type { NewTurn } from './enter-turn.ts'
import type { Turn } from './turn.ts'

/**
 * Drafts the input of a new turn as its extensions leave it. True when one of them has handled it: then nothing of it
 * stays.
 */
export function acceptInput(turn: Turn, entry: NewTurn): MaybePromise<boolean> {
  const { message, input, logged } = entry
  if (!message || input === undefined) return false
  if (!turn.hooks.has('onInput')) return follow(turn, entry, message, unchanged)
  const source = logged?.source ?? turn.run.source
  return turn.hooks.onInput({ input, source }).then((verdict) => follow(turn, entry, message, verdict))
}

const unchanged: InputVerdict = { action: 'continue' }

function follow(turn: Turn, { inputId, logged }: NewTurn, message: UserMessage, verdict: InputVerdict): boolean {
  const source = logged?.source ?? turn.run.source
  if (verdict.action === 'continue') {
    if (logged) keepLogged(turn, logged.messageId, message)
    else append(turn, message, { source, inputId, logged })
    return false
  }
  if (logged) withdraw(turn, logged.messageId)
  if (verdict.action === 'handled') {
    turn.reply = verdict.reply ?? ''
    if (inputId !== undefined) turn.run.inbox.confirm(inputId)
    return true
  }
  append(turn, verdict.input, { source, inputId, logged })
  return false
}

type UserMessage = NonNullable<NewTurn['message']>

interface Origin {
  readonly source: string
  readonly inputId: string | undefined
  readonly logged: NewTurn['logged']
}

function append(turn: Turn, message: UserMessage, { source, inputId, logged }: Origin): void {
  const id = freeIdOf(turn, message, logged) ?? turn.ids.next('msg')
  const stored: StoredMessage & { role: 'user' } = deepFreeze({ ...message, id, at: message.at ?? turn.clock.now() })
  turn.inputId = id
  turn.log.record({ type: 'user-message', messageId: id, message: stored, source, ...(inputId !== undefined && { inputId }) })
  turn.append(stored)
}

/** Its own, unless the log has a message of this id: that of the input which it replaces, or one that was sent before. */
function freeIdOf({ transcript }: Turn, { id }: UserMessage, logged: NewTurn['logged']): string | undefined {
  return id === undefined || id === logged?.messageId || transcript.hasMessage(id) ? undefined : id
}

/** The message is in log and transcript: only what the turn knows of it is missing. */
function keepLogged(turn: Turn, messageId: string, message: UserMessage): void {
  turn.inputId = messageId
  if (!turn.transcript.hasMessage(messageId)) turn.append({ ...message, id: messageId })
}

function withdraw(turn: Turn, messageId: string): void {
  turn.log.record({ type: 'message-discarded', messageId, reason: 'replaced' })
  if (turn.transcript.hasMessage(messageId)) turn.discard([messageId])
}
