import { fieldsOf, optional, refuse, text } from '../../base/fields.ts'

export type Action = 'allow' | 'warn' | 'block' | 'halt'

/** What one guardrail said, read and complete. */
export interface Decided<Each extends Action = Action> {
  readonly guardrail: string
  readonly action: Each
  readonly reason: string
  readonly code?: string
}

/** What all guardrails come to. `guardrail`, `reason` and `code` are those of the one that blocked or halted. */
export interface GuardrailVerdict<Each extends string = Action> {
  readonly action: Each
  readonly guardrail?: string
  readonly reason?: string
  readonly code?: string
  /** For the model, behind the output of the call. */
  readonly warnings: readonly string[]
}

/** Throws for what is no decision of this moment. */
export function readDecision<Each extends Action>(guardrail: string, returned: unknown, allowed: readonly Each[]): Decided<Each | 'allow'> {
  const fields = fieldsOf(returned, ['action', 'reason', 'code']) ?? { action: 'allow' }
  const action = allowed.find((each) => each === fields['action'])
  if (action === undefined) return refuse(`must have an action of ${allowed.join(', ')}`)
  const code = text(fields, 'code')
  const reason = text(fields, 'reason') ?? code ?? `the guardrail ${guardrail} gave no reason`
  return { guardrail, action, reason, ...optional('code', code) }
}

/** The first halt wins, else the first block; warnings add up. */
export function foldDecisions<Each extends Action>(decisions: readonly Decided<Each>[]): GuardrailVerdict<Each | 'allow' | 'warn'> {
  const warnings = decisions.filter(({ action }) => action === 'warn').map(({ reason }) => reason)
  const ruling = decisions.find(({ action }) => action === 'halt') ?? decisions.find(({ action }) => action === 'block')
  return ruling ? { ...ruling, warnings } : { action: warnings.length > 0 ? 'warn' : 'allow', warnings }
}
