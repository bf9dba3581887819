import { validateWith } from '@bowline/llm'
import type { AssistantMessage, JSONValue, SchemaIssue, SchemaResult } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { hashJson } from '../base/hash-json.ts'
import { firstOf } from '../base/maybe-promise.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import { yesOrNo } from '../base/yes-or-no.ts'
import type { Tool, ToolContext } from '../contract/agent.ts'
import type { CallApproval } from '../contract/journal.ts'
import type { CallVerdict } from '../plugins/extensions/verdicts.ts'
import type { Action, GuardrailVerdict } from '../plugins/guardrails/decisions.ts'
import { refusedDelegation } from '../plugins/subagents/refuse-delegation.ts'
import { cancelledOutcome, deniedOutcome, errorOutcome, valueOutcome } from '../tools/outcome.ts'
import type { Outcome } from '../tools/outcome.ts'
import { cutMiddle } from '../tools/output.ts'
import type { ModelAnswer } from './answer.ts'
import { describeCall } from './call.ts'
import type { Call } from './call.ts'
import { silent, toolContext } from './execute.ts'
import type { Turn } from './turn.ts'

/** `ready` to run here, `remote` to be given away, `approval` to be decided about, or `settled` without running. */
export type Prepared =
  | { readonly kind: 'ready' }
  | { readonly kind: 'remote' }
  | { readonly kind: 'approval'; readonly approval: CallApproval }
  | { readonly kind: 'settled'; readonly outcome: Outcome }

const shownCharacters = 2_000

/** From what the model asked for to what is done about it: the first that objects settles the call. */
export function prepare(turn: Turn, { message }: ModelAnswer, call: Call): Prepared | Promise<Prepared> {
  return firstOf<Prepared>([
    () => refusal(refusedByAnswer(message) ?? refusedByCall(call) ?? refusedByLimit(turn, call) ?? refusedByName(turn, call) ?? refusedDelegation(turn, call)),
    () => validateInput(turn, call),
    () => askHooks(turn, call),
    () => askGuardrails(turn, call),
    () => askWhetherApproved(turn, call),
    () => runnable(call),
  ])
}

/** A call that was allowed earlier: only its input is read again. */
export function prepareAgain(turn: Turn, call: Call): Prepared | Promise<Prepared> {
  if (!call.tool) return { kind: 'settled', outcome: noSuchTool(call) }
  return firstOf<Prepared>([() => validateInput(turn, call), () => runnable(call)])
}

function refusal(outcome: Outcome | undefined): Prepared | undefined {
  return outcome && { kind: 'settled', outcome }
}

function runnable({ tool }: Call): Prepared {
  return tool?.execute || tool?.subagent ? { kind: 'ready' } : { kind: 'remote' }
}

function refusedByAnswer({ stopReason }: AssistantMessage): Outcome | undefined {
  switch (stopReason) {
    case 'stop':
    case 'tool-calls':
      return undefined
    case 'length':
      return errorOutcome('not run: the answer was cut off at its length limit, so its calls may be incomplete', 'no')
    case 'error':
      return cancelledOutcome('the answer failed', 'no')
    case 'aborted':
      return cancelledOutcome('the answer was stopped', 'no')
    default: {
      const unknown: never = stopReason
      return unknown
    }
  }
}

/** Broken arguments are never repaired. */
function refusedByCall({ part }: Call): Outcome | undefined {
  if (!part.invalid) return undefined
  const received = cutMiddle(part.inputText ?? '', shownCharacters)
  return errorOutcome(`the arguments are not valid (${part.invalid}); received: ${received}`, 'no')
}

function refusedByLimit({ run, earlierCalls }: Turn, { row }: Call): Outcome | undefined {
  const { maxToolCalls } = run.limits
  if (earlierCalls + row.index < maxToolCalls) return undefined
  return cancelledOutcome(`the turn may run ${maxToolCalls} tool calls`, 'no')
}

function refusedByName({ agent, activeTools }: Turn, call: Call): Outcome | undefined {
  const { toolName } = call.part
  if (!call.tool) return noSuchTool(call)
  if (activeTools && !activeTools.has(toolName)) return errorOutcome(`the tool "${toolName}" is not active in this step`, 'no')
  if (agent.allowed && !agent.allowed.has(toolName)) return errorOutcome(`the tool "${toolName}" may not be used here`, 'no')
  return undefined
}

function noSuchTool({ part }: Call): Outcome {
  return errorOutcome(`there is no tool named "${part.toolName}"`, 'no')
}

/** Puts the validated input into the call, or says what is wrong with it. */
function validateInput({ stop }: Turn, call: Call): MaybePromise<Prepared | undefined> {
  const input = call.row.input ?? call.part.input
  const checked = validate(call.tool, input)
  if (!(checked instanceof Promise)) return takeInput(call, input, checked)
  return stop.until(checked).then(
    (result) => takeInput(call, input, result),
    () => refusal(cancelledOutcome('the run was stopped', 'no')),
  )
}

function takeInput(call: Call, input: JSONValue, checked: SchemaResult): Prepared | undefined {
  if (!checked.ok) return refusal(errorOutcome(invalidInput(checked.issues, input), 'no'))
  call.input = checked.value
  return undefined
}

/** It must not reject. */
export function validate(tool: Tool | undefined, input: JSONValue): MaybePromise<SchemaResult> {
  if (!tool) return { ok: false, issues: [{ path: '', message: 'there is no such tool' }] }
  const checked = validateWith(tool.inputSchema, input)
  return checked instanceof Promise ? checked.catch((error: unknown) => ({ ok: false, issues: [{ path: '', message: messageOf(error) }] })) : checked
}

function invalidInput(issues: readonly SchemaIssue[], input: JSONValue): string {
  const lines = issues.map(({ path, message }) => `${path === '' ? '(input)' : path}: ${message}`)
  return ['the arguments are not valid:', ...lines, `received: ${cutMiddle(JSON.stringify(input), shownCharacters)}`].join('\n')
}

function askHooks(turn: Turn, call: Call): Promise<Prepared | undefined> | undefined {
  if (!turn.hooks.has('onToolCall')) return undefined
  const asked = turn.hooks.onToolCall(describeCall(call), (input) => validate(call.tool, input))
  return asked.then(async (decision) => refusal(await readDecision(turn, call, decision)))
}

function readDecision(turn: Turn, call: Call, decision: CallVerdict): MaybePromise<Outcome> | undefined {
  switch (decision.action) {
    case 'allow':
      if (decision.modified) {
        call.row = { ...call.row, input: decision.modified.input }
        call.input = decision.modified.value
      }
      return undefined
    case 'reject-and-continue':
      return deniedOutcome(decision.message)
    case 'synthesize':
      return valueOutcome(undefined, describeCall(call), decision, 'no')
    case 'error':
      turn.stop.stop({ kind: 'stop', status: 'error', reason: 'policy-error', error: { code: 'policy-error', message: decision.message } })
      return errorOutcome(decision.message, 'no')
    case 'stopped':
      return cancelledOutcome('the run was stopped', 'no')
    default: {
      const unknown: never = decision
      return unknown
    }
  }
}

function askGuardrails(turn: Turn, call: Call): MaybePromise<Prepared | undefined> {
  const asked = turn.guardrails.beforeCall(describeCall(call))
  return asked instanceof Promise ? asked.then((verdict) => refusal(readVerdict(turn, call, verdict))) : refusal(readVerdict(turn, call, asked))
}

function readVerdict(turn: Turn, call: Call, decision: GuardrailVerdict<Action | 'stopped'>): Outcome | undefined {
  // A call may end in another process than the one that asked: its warnings are stored with it.
  const { warnings } = decision
  if (warnings.length > 0 || call.row.warnings) call.row = { ...call.row, warnings }
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

function askWhetherApproved(turn: Turn, call: Call): MaybePromise<Prepared | undefined> {
  const needs = call.tool?.needsApproval ?? false
  const question = (isNeeded: boolean): Prepared | undefined => (isNeeded ? { kind: 'approval', approval: questionAbout(turn, call) } : undefined)
  return typeof needs === 'boolean' ? question(needs) : needsApproval(turn, call, needs).then(question)
}

async function needsApproval(turn: Turn, call: Call, needs: Exclude<Tool['needsApproval'], boolean | undefined>): Promise<boolean> {
  try {
    return yesOrNo('needsApproval', await turn.stop.until(needs(call.input, questionContext(turn, call)))) ?? false
  } catch (error) {
    if (turn.stop.requested) return true
    // Who cannot say that it needs none is asked.
    turn.log.record({ type: 'error', source: 'tool', name: call.row.toolName, hook: 'needsApproval', message: messageOf(error), fatal: false })
    return true
  }
}

/** Nothing runs yet: what is said is dropped. */
function questionContext(turn: Turn, call: Call): ToolContext {
  return toolContext(turn, call, { abortSignal: turn.stop.signal, emit: silent, report: () => undefined })
}

function questionAbout(turn: Turn, call: Call): CallApproval {
  const input = call.row.input ?? call.part.input
  return { approvalId: turn.ids.next('approval'), state: 'requested', input, inputHash: hashJson(input) }
}

/** Of a result that came with the answer. */
export function givenOutcome(given: { readonly output: Outcome['output']; readonly status?: Outcome['status']; readonly details?: JSONValue }): Outcome {
  const { output, status, details } = given
  return { status: status ?? (isError(output) ? 'error' : 'result'), executed: 'elsewhere', output, ...(details !== undefined && { details }) }
}

function isError({ type }: Outcome['output']): boolean {
  return type === 'error-text' || type === 'error-json' || type === 'execution-denied'
}
