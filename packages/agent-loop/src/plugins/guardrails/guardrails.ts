import type { ToolOutput } from '@bowline/llm'
import type { Diagnostic } from '../../base/loaded.ts'
import type { Extension } from '../../contract/extension.ts'
import type { Guardrail } from '../../contract/guardrail.ts'
import { describeCall } from '../../kernel/call.ts'
import type { Call, Prepared } from '../../kernel/call.ts'
import { turnState } from '../../kernel/plugin.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { EndedCall } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'
import { cancelledOutcome, deniedOutcome } from '../../tools/outcome.ts'
import type { Outcome } from '../../tools/outcome.ts'
import { makeGuardrail } from './define-guardrail.ts'
import { loopGuard, loopWatchOf } from './loop-guard.ts'
import { guardrailRunner } from './run-guardrails.ts'
import type { Action, GuardrailHandler, GuardrailRunner, GuardrailVerdict } from './run-guardrails.ts'

const stateOf = turnState(() => ({ runner: undefined as GuardrailRunner | undefined }))

/**
 * Asks the agent's guardrails about each call, before and after it runs. The loop guard is one of them, but is not the user's code.
 */
export function guardrailsPlugin(guardrails: readonly Guardrail[]): Plugin {
  const has = (handler: GuardrailHandler): boolean =>
    guardrails.some((guardrail) => guardrail[handler] !== undefined && !loopWatchOf(guardrail))
  const runner = (turn: Turn): GuardrailRunner => (stateOf(turn).runner ??= runnerFor(turn, guardrails))
  return {
    name: 'guardrails',
    foreign: {
      ...(has('onTurnStart') && { begin: true }),
      ...(has('beforeCall') && { beforeCall: true }),
      ...(has('afterCall') && { outcome: true }),
    },
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
    guardrails,
    clock: turn.clock,
    abortSignal: stop.signal,
    stopDeadline: () => turn.stopDeadline,
    contextOf: () => ({
      runId,
      turn: number,
      step: turn.step,
      agent: run.path,
      abortSignal: stop.signal,
      ...(run.sessionKey !== undefined && { sessionKey: run.sessionKey }),
      ...(run.context !== undefined && { context: run.context }),
    }),
    onError({ guardrail, hook, message }) {
      turn.log.note({ type: 'error', source: 'guardrail', name: guardrail, hook, message, fatal: false })
    },
  })
}

function prepared(turn: Turn, call: Call, verdict: GuardrailVerdict<Action | 'stopped'>): Prepared | undefined {
  // A call may end in another process than the one that asked, so its warnings are stored with it.
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
    default:
      return decision.action satisfies never
  }
}

/** Adds the warnings of guardrails to the outcome. */
function review(turn: Turn, ended: EndedCall, { action, reason, warnings: after }: GuardrailVerdict): void {
  const { warnings: before = [] } = ended.call.row
  const warnings = before.length > 0 ? [...before, ...after] : after
  if (action === 'halt') turn.halt(reason ?? 'a guardrail halted the turn')
  if (warnings.length > 0) ended.outcome = { ...ended.outcome, output: addWarnings(ended.outcome.output, warnings) }
}

interface Candidate {
  readonly guardrail: Guardrail
  readonly origin: string
}

/**
 * Returns all guardrails of an agent in the order in which they are asked: its own, the built-in one, those from files, those from
 * extensions. If several have the same name, the first is used; losers become diagnostics. An own guardrail with the built-in's
 * name replaces it.
 */
export function mergeGuardrails(
  own: readonly Guardrail[],
  fromFiles: readonly Guardrail[],
  extensions: readonly Extension[],
): { readonly guardrails: readonly Guardrail[]; readonly diagnostics: readonly Diagnostic[] } {
  const builtIn = loopGuard()
  const given = own.map((guardrail, index) => makeGuardrail(`guardrails[${index}]`, guardrail))
  const replaced = given.some(({ name }) => name === builtIn.name)
  const candidates: readonly Candidate[] = [
    ...given.map((guardrail) => ({ guardrail, origin: 'the agent' })),
    ...(replaced ? [] : [{ guardrail: builtIn, origin: 'this package' }]),
    ...fromFiles.map((guardrail) => ({ guardrail, origin: 'a file' })),
    ...extensions.flatMap(({ name, guardrails = [] }) => guardrails.map((guardrail) => ({ guardrail, origin: `the extension ${name}` }))),
  ]
  const used = new Map<string, Candidate>()
  const diagnostics: Diagnostic[] = []
  for (const candidate of candidates) {
    const { name } = candidate.guardrail
    const first = used.get(name)
    if (first)
      diagnostics.push({
        kind: 'guardrail',
        name,
        message: `the one of ${candidate.origin} is not used: ${first.origin} has one with the same name`,
      })
    else used.set(name, candidate)
  }
  return {
    guardrails: Object.freeze([...used.values()].map(({ guardrail, origin }) => makeGuardrail(`guardrails of ${origin}`, guardrail))),
    diagnostics,
  }
}

/** Returns the output with the warnings appended: cutting a long output keeps its end. */
export function addWarnings(output: ToolOutput, warnings: readonly string[]): ToolOutput {
  if (warnings.length === 0) return output
  const lines = warnings.map((warning) => `Warning: ${warning}`).join('\n')
  const behind = (text: string): string => (text === '' ? lines : `${text}\n\n${lines}`)
  switch (output.type) {
    case 'text':
    case 'error-text':
      return { ...output, value: behind(output.value) }
    case 'json':
      return { type: 'text', value: behind(JSON.stringify(output.value)) }
    case 'error-json':
      return { type: 'error-text', value: behind(JSON.stringify(output.value)) }
    case 'content':
      return { ...output, value: [...output.value, { type: 'text', text: lines }] }
    case 'execution-denied':
      return { ...output, reason: behind(output.reason ?? '') }
    default:
      return output satisfies never
  }
}
