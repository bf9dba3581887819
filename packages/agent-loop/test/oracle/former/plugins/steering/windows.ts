import { deepFreeze } from '../../base/json.ts'
import type { AgentInput } from '../../contract/input.ts'
import type { QueuedInput, StoredMessage } from '../../contract/journal.ts'
import type { InputSource, Window } from '../../events/types.ts'
import type { Turn } from '../../kernel/turn.ts'
import { userMessageFor } from '../../transcript/input.ts'
import { anchorOf } from './overlays.ts'

/** Whether there is anything that a window could take. */
export function mayTakeInputs({ run }: Turn): boolean {
  return run.journal.takeInputs !== undefined || run.inbox.hasInputs || run.hasOverlays
}

/**
 * Drafts the inputs that a window takes: the overlays of the run, what waits in the journal, what waits in this process.
 * True when there were any. Where no request follows they wait for one.
 */
export async function takeInputs(turn: Turn, window: Window): Promise<boolean> {
  const { run, agent, stop } = turn
  if (turn.answersAhead.length > 0 || isPaused(turn) || stop.requested) return false
  const waiting = await waitingInJournal(turn, window)
  if (stop.requested) return false
  const given = run.takeOverlays().map((input) => queued(turn, 'overlay', input))
  const outside = agent.steering === 'all' ? waiting : withOne(waiting, turn.steered)
  turn.steered ||= outside.some(steers)
  const inside = run.inbox.take(agent.steering === 'one-at-a-time' && turn.steered ? 'overlays' : agent.steering)
  turn.steered ||= inside.some(steers)
  if (outside.length > 0) turn.takeOver(outside.map(({ inputId }) => inputId))
  const taken = [...given, ...outside, ...inside]
  for (const input of taken) placeInput(turn, window, input)
  return taken.length > 0
}

/** The model goes on with what it has begun: nothing may come between. */
export function isPaused({ answered, transcript }: Turn): boolean {
  const last = transcript.messages.at(-1)
  return answered && last?.role === 'assistant' && last.paused === true
}

/** Puts an input that was not queued in front of the model. */
export function addInput(turn: Turn, window: Window, source: InputSource, input: AgentInput): void {
  placeInput(turn, window, queued(turn, source, input))
}

function queued(turn: Turn, source: InputSource, input: AgentInput): QueuedInput {
  return { inputId: turn.ids.next('input'), source, input }
}

/** What the journal gives, without what a window before has drafted: the journal has it until it is stored. */
async function waitingInJournal({ run, unstored }: Turn, window: Window): Promise<readonly QueuedInput[]> {
  const waiting = (await run.journal.takeInputs?.(window, run.limits.maxQueuedInputs + unstored.size)) ?? []
  return waiting.filter(({ inputId }) => !unstored.has(inputId))
}

/** All overlays, and one of the others unless the next request has one already. */
function withOne(inputs: readonly QueuedInput[], steered: boolean): readonly QueuedInput[] {
  const first = steered ? undefined : inputs.find(steers)
  return inputs.filter((input) => input === first || !steers(input))
}

function steers({ source }: QueuedInput): boolean {
  return source !== 'overlay'
}

/** An overlay stands beside the transcript, all else in it. */
function placeInput(turn: Turn, window: Window, { inputId, source, input }: QueuedInput): void {
  const message = deepFreeze(userMessageFor(input))
  const characters = textLength(message.content)
  if (source === 'overlay') {
    const anchor = anchorOf(turn.transcript.view, turn.inputId, turn.answered)
    const overlay = { inputId, content: message.content, anchor }
    turn.overlays.add(overlay)
    turn.transcript.estimate.useExtra(turn.overlays.messages)
    turn.log.write({ type: 'overlay', overlay })
    turn.log.record({ type: 'runtime-input', inputId, source, placement: window, characters })
    return
  }
  const stored: StoredMessage & { role: 'user' } = { ...message, id: turn.ids.next('msg'), at: turn.clock.now() }
  turn.log.record({ type: 'runtime-input', inputId, source, placement: window, message: stored, characters })
  turn.append(stored)
  // Without another input it is what the turn begins with.
  turn.inputId ??= stored.id
}

function textLength(content: ReturnType<typeof userMessageFor>['content']): number {
  if (typeof content === 'string') return content.length
  return content.reduce((length, part) => length + (part.type === 'text' ? part.text.length : 0), 0)
}
