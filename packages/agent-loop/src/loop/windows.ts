import { userMessageFor } from '../agent/input.ts'
import type { AgentInput } from '../agent/options.ts'
import type { InputSource, Window } from '../events/types.ts'
import { deepFreeze } from '../json.ts'
import type { QueuedInput, StoredMessage } from '../journal/journal.ts'
import { anchorOf } from './overlays.ts'
import type { Turn } from './turn.ts'

/** Drafts the inputs that a window takes. True when there were any. Where no request follows they wait for one. */
export async function takeInputs(turn: Turn, window: Window): Promise<boolean> {
  if (turn.answersAhead.length > 0) return false
  const { inbox, journal, limits } = turn.run
  const { steering } = turn.agent
  const outside = (await journal.takeInputs?.(window, steering === 'all' ? limits.maxQueuedInputs : 1)) ?? []
  if (outside.length > 0) turn.write({ type: 'inputs-taken', inputIds: outside.map(({ inputId }) => inputId) })
  const steered = outside.some(({ source }) => source !== 'overlay')
  const inside = inbox.take(steering === 'one-at-a-time' && steered ? 'overlays' : steering)
  for (const input of [...outside, ...inside]) placeInput(turn, window, input)
  return outside.length + inside.length > 0
}

/** Puts one input in front of the model: an overlay beside the transcript, all else into it. */
export function placeInput(turn: Turn, window: Window, { inputId, source, input }: QueuedInput): void {
  const message = deepFreeze(userMessageFor(input))
  const characters = textLength(message.content)
  if (source === 'overlay') {
    const anchor = anchorOf(turn.transcript.messages, turn.inputId, turn.answered)
    const overlay = { inputId, content: message.content, anchor }
    turn.overlays.add(overlay)
    turn.transcript.estimate.useExtra(turn.overlays.messages)
    turn.write({ type: 'overlay', overlay })
    turn.record({ type: 'runtime-input', inputId, source, placement: window, characters })
    return
  }
  const stored: StoredMessage & { role: 'user' } = { ...message, id: turn.ids.next('msg'), at: turn.clock.now() }
  turn.record({ type: 'runtime-input', inputId, source, placement: window, message: stored, characters })
  turn.append(stored)
}

/** Puts an input that was not queued in front of the model. */
export function addInput(turn: Turn, window: Window, source: InputSource, input: AgentInput): void {
  placeInput(turn, window, { inputId: turn.ids.next('input'), source, input })
}

function textLength(content: ReturnType<typeof userMessageFor>['content']): number {
  if (typeof content === 'string') return content.length
  return content.reduce((length, part) => length + (part.type === 'text' ? part.text.length : 0), 0)
}
