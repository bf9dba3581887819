import type { Guardrail } from '../../contract/guardrail.ts'
import { describeCall } from '../../kernel/call.ts'
import type { Call, Prepared } from '../../kernel/call.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { EndedCall } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { cancelledOutcome, deniedOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { addWarnings } from './add-warnings.ts'
import type { Action, GuardrailVerdict } from './decisions.ts'
import { loopWatchOf } from './loop-guard.ts'
import { guardrailRunner } from './run-guardrails.ts'
import type { GuardrailHandler, GuardrailRunner } from './runner.ts'

const stateOf = turnState(() => ({ runner: undefined as GuardrailRunner | undefined }))

/** Asks the agent's guardrails about each call, before it runs and after. The loop guard is one of them, and is no code of the user. */
export function guardrailsPlugin(guardrails: readonly Guardrail[]): Plugin {
  const has = (handler: GuardrailHandler): boolean => guardrails.some((guardrail) => guardrail[handler] !== undefined && !loopWatchOf(guardrail))
  const runner = (turn: Turn): GuardrailRunner => (stateOf(turn).runner ??= runnerFor(turn, guardrails))
  return {
    name: 'guardrails',
    foreign: { ...(has('onTurnStart') && { begin: true }), ...(has('beforeCall') && { beforeCall: true }), ...(has('afterCall') && { outcome: true }) },
    hooks: {
      ...(has('onTurnStart') && { begin: (turn, { resumed }) => runner(turn).onTurnStart(resumed) }),
      ...(has('onTurnEnd') && { close: (turn, { status }) => runner(turn).onTurnEnd(status) }),
      beforeCall(turn, call) {
        const asked = runner(turn).beforeCall(describeCall(call))
        return asked instanceof Promise ? asked.then((verdict) => prepared(turn, call, verdict)) : prepared(turn, call, asked)
      },
      outcome(turn, ended) {
        const { status, output, executed } = ended.outcome
        const asked = runner(turn).afterCall(describeCall(ended.call), { status, output, executed: executed !== 'no' })
        return asked instanceof Promise ? asked.then((verdict) => review(turn, ended, verdict)) : review(turn, ended, asked)
      },
    },
  }
}

function runnerFor(turn: Turn, guardrails: readonly Guardrail[]): GuardrailRunner {
  const { run, runId, number, stop } = turn
  return guardrailRunner({
    ...{ guardrails, clock: turn.clock, abortSignal: stop.signal },
    stopDeadline: () => turn.stopDeadline,
    contextOf: () => ({
      ...{ runId, turn: number, step: turn.step, agent: run.path, abortSignal: stop.signal },
      ...(run.sessionKey !== undefined && { sessionKey: run.sessionKey }),
      ...(run.context !== undefined && { context: run.context }),
    }),
    onError({ guardrail, hook, message }) {
      turn.log.note({ type: 'error', source: 'guardrail', name: guardrail, hook, message, fatal: false })
    },
  })
}

function prepared(turn: Turn, call: Call, verdict: GuardrailVerdict<Action | 'stopped'>): Prepared | undefined {
  // A call may end in another process than the one that asked: its warnings are stored with it.
  const { warnings } = verdict
  if (warnings.length > 0 || call.row.warnings) call.row = { ...call.row, warnings }
  const outcome = refusal(turn, verdict)
  return outcome && { kind: 'settled', outcome }
}

function refusal(turn: Turn, decision: GuardrailVerdict<Action | 'stopped'>): Outcome | undefined {
  const reason = decision.reason ?? 'a guardrail refused the call'
  switch (decision.action) {
    case 'allow':
    case 'warn':
      return undefined
    case 'block':
      return deniedOutcome(reason)
    case 'halt':
      turn.halt(reason)
      return cancelledOutcome(reason, 'no')
    case 'stopped':
      return cancelledOutcome('the run was stopped', 'no')
    default: {
      const unknown: never = decision.action
      return unknown
    }
  }
}

/** Adds what guardrails have to say to the outcome. */
function review(turn: Turn, ended: EndedCall, { action, reason, warnings: after }: GuardrailVerdict): void {
  const { warnings: before = [] } = ended.call.row
  const warnings = before.length > 0 ? [...before, ...after] : after
  if (action === 'halt') turn.halt(reason ?? 'a guardrail halted the turn')
  if (warnings.length > 0) ended.outcome = { ...ended.outcome, output: addWarnings(ended.outcome.output, warnings) }
}
