import { weighPrompt } from './prompt-size.ts'
import { addInput, takeInputs } from './windows.ts'
import { buildInstructions } from './instructions.ts'
import type { AgentInput } from '../agent/options.ts'
import type { Turn } from './turn.ts'

interface Segment {
  readonly input: AgentInput | undefined
  readonly resumed: boolean
  /** False: inputs wait for another turn. */
  readonly takesInputs: boolean
}

/** What happens behind a `turn-start`: the driver, the prompt, the hooks, and the first window. True when inputs came. */
export async function openSegment(turn: Turn, { input, resumed, takesInputs }: Segment): Promise<boolean> {
  await turn.boundary()
  await buildInstructions(turn)
  await askObservers(turn, { input, resumed })
  await weighPrompt(turn)
  // Nothing may come between an answer and the results of its calls, or stand behind an answer whose step is not judged.
  if (turn.stepState === 'answered' || !takesInputs) return false
  return takeInputs(turn, 'turn-start')
}

/** Nothing stands behind the input: what belongs to the turn as a whole was not stored, or there was nothing of it. */
export function isUntouched({ step, overlays, inputId, transcript }: Turn): boolean {
  return step === 0 && overlays.count === 0 && (inputId === undefined || transcript.messages.at(-1)?.id === inputId)
}

/** Of every segment, also of one in which nothing runs: what ends with it has begun with it. */
export async function beginGuardrails(turn: Turn, resumed: boolean): Promise<void> {
  if (turn.guardrails.has('onTurnStart')) await turn.commit()
  await turn.guardrails.onTurnStart(resumed)
}

async function askObservers(turn: Turn, { input, resumed }: Omit<Segment, 'takesInputs'>): Promise<void> {
  const { hooks } = turn
  await beginGuardrails(turn, resumed)
  if (hooks.has('beforeAgentStart', 'onTurnStart')) await turn.commit()
  if (hooks.has('beforeAgentStart')) {
    const { instructions, append } = await hooks.beforeAgentStart({ input, instructions: turn.instructions })
    turn.instructions = instructions
    // They belong to the turn, not to its segment.
    if (isUntouched(turn)) for (const extra of append) addInput(turn, 'turn-start', 'notify', extra)
  }
  if (hooks.has('onTurnStart')) await hooks.onTurnStart({ turn: turn.number, resumed })
}
