import { deepFreeze } from '../../base/json.ts'
import type { QueuedInput } from '../../contract/journal.ts'
import type { Window } from '../../events/turn-events.ts'
import { charactersOf, placeInput } from '../../kernel/enter.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Turn } from '../../kernel/turn.ts'
import { userMessageFor } from '../../transcript/input.ts'
import { anchorOf, Overlays } from './overlays.ts'

/** Number of steered inputs that one request may show. */
type Steering = 'all' | 'one-at-a-time'

const stateOf = turnState((turn) => ({
  overlays: new Overlays(turn.open?.overlays),
  /** Inputs that are drafted as taken, but still wait in the journal until the next commit; valid for this number of commits. */
  unstored: new Set<string>(),
  commits: 0,
  /** Id of the message before which a steering input was drafted. */
  steeredBefore: undefined as string | undefined,
}))

/** Shows the model inputs that arrive during a turn: steered inputs in the transcript, overlays beside it. */
export function steeringPlugin(steering: Steering): Plugin {
  return {
    name: 'steering',
    hooks: {
      open(turn) {
        turn.transcript.estimate.useExtra(turn.open?.overlays ? stateOf(turn).overlays.messages : [])
      },
      drain: (turn, slot) => (mayDrain(turn) ? drainInputs(turn, steering, slot) : undefined),
      context(turn, request) {
        if (request.messages !== turn.transcript.view) return
        request.messages = stateOf(turn).overlays.into(request.messages, turn.transcript.shown.compaction?.compactionId)
      },
      discarding(turn, messageIds) {
        const { overlays } = stateOf(turn)
        for (const overlay of overlays.withdrawn(messageIds, turn.transcript.view)) turn.log.write({ type: 'overlay', overlay })
      },
      ending(turn, end) {
        end.overlaysExpired = stateOf(turn).overlays.count
      },
    },
  }
}

/** Returns whether there is anything that a window could take, and a request that could show it. */
function mayDrain(turn: Turn): boolean {
  const { run, stop, bufferedAnswers } = turn
  const hasAny = run.journal.drainInputs !== undefined || run.inbox.hasInputs || run.hasOverlays
  return hasAny && bufferedAnswers.length === 0 && !stop.requested && !turn.isPaused
}

/**
 * Drafts the inputs that a window takes: overlays of the run, inputs in the journal, inputs in this process. Without a following
 * request they wait for one.
 */
async function drainInputs(turn: Turn, steering: Steering, slot: Window): Promise<true | undefined> {
  const { run, stop, messageId } = turn
  const state = stateOf(turn)
  const waiting = await waitingInJournal(turn, slot)
  if (stop.requested) return undefined
  const given = run.takeOverlays().map((input): QueuedInput => ({ inputId: turn.ids.next('input'), source: 'overlay', input }))
  const outside = steering === 'all' ? waiting : withOne(waiting, state.steeredBefore === messageId)
  if (outside.some(steers)) state.steeredBefore = messageId
  const inside = run.inbox.take(steering === 'one-at-a-time' && state.steeredBefore === messageId ? 'overlays' : steering)
  if (inside.some(steers)) state.steeredBefore = messageId
  if (outside.length > 0)
    takeOver(
      turn,
      outside.map(({ inputId }) => inputId),
    )
  const taken = [...given, ...outside, ...inside]
  for (const input of taken) place(turn, slot, input)
  return taken.length > 0 ? true : undefined
}

/** Drafts that inputs are taken from the journal. The messages that show them must be drafted with it. */
function takeOver(turn: Turn, inputIds: readonly string[]): void {
  const state = stateOf(turn)
  state.commits = turn.log.commits
  for (const inputId of inputIds) state.unstored.add(inputId)
  turn.log.write({ type: 'inputs-taken', inputIds })
}

/** Returns the journal's inputs, without those that an earlier window has drafted: the journal has them until they are stored. */
async function waitingInJournal(turn: Turn, slot: Window): Promise<readonly QueuedInput[]> {
  const { run, log } = turn
  const state = stateOf(turn)
  if (state.commits !== log.commits) state.unstored.clear()
  try {
    const waiting = (await run.journal.drainInputs?.(slot, run.limits.maxQueuedInputs + state.unstored.size)) ?? []
    return waiting.filter(({ inputId }) => !state.unstored.has(inputId))
  } catch (error) {
    // The draft may hold outcomes of calls. Before the first commit nothing has happened that could be lost.
    if (log.commits > 0) await turn.commit()
    throw error
  }
}

/** Returns all overlays, and one of the other inputs unless the next request already has one. */
function withOne(inputs: readonly QueuedInput[], steered: boolean): readonly QueuedInput[] {
  const first = steered ? undefined : inputs.find(steers)
  return inputs.filter((input) => input === first || !steers(input))
}

function steers({ source }: QueuedInput): boolean {
  return source !== 'overlay'
}

/** Places an input: an overlay beside the transcript, any other input in it. */
function place(turn: Turn, slot: Window, { inputId, source, input }: QueuedInput): void {
  const message = deepFreeze(userMessageFor(input))
  if (source === 'overlay') {
    const { overlays } = stateOf(turn)
    const overlay = { inputId, content: message.content, anchor: anchorOf(turn.transcript.view, turn.inputId, turn.answered) }
    overlays.add(overlay)
    turn.transcript.estimate.useExtra(overlays.messages)
    turn.log.write({ type: 'overlay', overlay })
    turn.log.record({ type: 'runtime-input', inputId, source, placement: slot, characters: charactersOf(message.content) })
    return
  }
  placeInput(turn, slot, { inputId, source, input: message })
}
