import type { MaybePromise } from '../base/maybe-promise.ts'
import type { AgentInput } from '../contract/input.ts'
import { addInput, mayTakeInputs, takeInputs } from '../plugins/steering/windows.ts'
import { buildInstructions, takeKnownInstructions } from './instructions.ts'
import { weighKnownPrompt, weighPrompt } from './prompt-size.ts'
import type { Turn } from './turn.ts'

interface Segment {
  readonly input: AgentInput | undefined
  readonly resumed: boolean
  /** False: inputs wait for another turn. */
  readonly takesInputs: boolean
}

/** What happens behind a `turn-start`: the driver, the prompt, the hooks, and the first window. True when inputs came. */
export function openSegment(turn: Turn, segment: Segment): MaybePromise<boolean> {
  return isQuiet(turn) && usesKnownPrompt(turn) ? firstWindow(turn, segment) : openSlowly(turn, segment)
}

/** Nobody looks on. */
function isQuiet({ isDriven, hooks, guardrails }: Turn): boolean {
  return !isDriven && !hooks.has('beforeAgentStart', 'onTurnStart') && !guardrails.has('onTurnStart')
}

/** Takes over what is known of the prompt. False: something has to be asked for it. */
function usesKnownPrompt(turn: Turn): boolean {
  return takeKnownInstructions(turn) && weighKnownPrompt(turn)
}

async function openSlowly(turn: Turn, segment: Segment): Promise<boolean> {
  await turn.boundary()
  await buildInstructions(turn)
  await askObservers(turn, segment)
  await weighPrompt(turn)
  return firstWindow(turn, segment)
}

/** Nothing may come between an answer and the results of its calls, or stand behind an answer whose step is not judged. */
function firstWindow(turn: Turn, { takesInputs }: Segment): MaybePromise<boolean> {
  return turn.stepState !== 'answered' && takesInputs && mayTakeInputs(turn) && takeInputs(turn, 'turn-start')
}

/** Nothing stands behind the input: what belongs to the turn as a whole was not stored, or there was nothing of it. */
export function isUntouched({ step, overlays, inputId, transcript }: Turn): boolean {
  return step === 0 && overlays.count === 0 && (inputId === undefined || transcript.messages.at(-1)?.id === inputId)
}

/** Of every segment, also of one in which nothing runs: what ends with it has begun with it. */
export async function beginGuardrails(turn: Turn, resumed: boolean): Promise<void> {
  if (turn.guardrails.has('onTurnStart')) await turn.log.commit()
  await turn.guardrails.onTurnStart(resumed)
}

async function askObservers(turn: Turn, { input, resumed }: Omit<Segment, 'takesInputs'>): Promise<void> {
  const { hooks } = turn
  await beginGuardrails(turn, resumed)
  // On purpose unlike the first copy: what watchers draft at a commit is stored with the next one, not by a commit of its own.
  if (hooks.has('beforeAgentStart')) await turn.log.commit()
  if (hooks.has('beforeAgentStart')) {
    const { instructions, append } = await hooks.beforeAgentStart({ input, instructions: turn.instructions })
    turn.instructions = instructions
    // They belong to the turn, not to its segment.
    if (isUntouched(turn)) for (const extra of append) addInput(turn, 'turn-start', 'notify', extra)
  }
  await tellTurnStart(turn, resumed)
}

/** Of every segment, too. */
export async function tellTurnStart(turn: Turn, resumed: boolean): Promise<void> {
  if (!turn.hooks.has('onTurnStart')) return
  await turn.log.commit()
  await turn.hooks.onTurnStart({ turn: turn.number, resumed })
}
