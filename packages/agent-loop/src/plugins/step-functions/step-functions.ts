import { mergeRuntimeParams } from '@bowline/llm'
import type { Message } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { checkKeys, checkList, checkRequired, checkRuntimeParams, checkText, checkToolChoice, refuseConfig } from '../../base/checks.ts'
import { yesOrNo } from '../../base/fields.ts'
import { wrongShape } from '../../base/messages.ts'
import { isThenable, settleWithin } from '../../base/promises.ts'
import type { MaybePromise } from '../../base/promises.ts'
import type { AgentOptions, PrepareStep, StepContext, StepPatch, StopCondition } from '../../contract/options.ts'
import { aborted, modelWouldStop } from '../../kernel/ending.ts'
import { modelTarget } from '../../kernel/model-target.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import { budgetLeft, checkPrices } from '../../kernel/spending.ts'
import type { EndedStep, RequestDraft, StepPlan } from '../../kernel/subjects.ts'
import type { Turn } from '../../kernel/turn.ts'

/** Lets the agent's `prepareStep` change one step. An error in it is a mistake of the agent's owner, and ends the turn. */
export function prepareStepPlugin(prepareStep: PrepareStep): Plugin {
  return { name: 'prepare-step', foreign: { plan: true }, hooks: { plan: (turn, plan) => patchPlan(turn, prepareStep, plan) } }
}

async function patchPlan(turn: Turn, prepareStep: PrepareStep, plan: StepPlan): Promise<void> {
  const asked = await askOwner(turn, 'prepareStep', async () => {
    const patch = checkedPatch(await prepareStep(stepContext(turn)))
    const named = patch.model ?? patch.runtimeParams?.model
    if (named === undefined) return { patch }
    const model = modelTarget(named, turn.agent.models, {})
    checkPrices(turn.budgets, [model], turn.run.limits)
    return { patch, model }
  })
  if (!asked) return
  const { patch, model } = asked
  const [, ...others] = plan.models
  plan.patch = patch
  if (patch.runtimeParams) plan.params = mergeRuntimeParams(plan.params, patch.runtimeParams)
  if (!model) return
  plan.models = [model, ...others]
  plan.model = model
}

const patchKeys: readonly (keyof StepPatch)[] = ['model', 'runtimeParams', 'toolChoice', 'activeTools', 'instructions', 'messages']

function checkedPatch(patch: StepPatch | undefined): StepPatch {
  if (patch === undefined) return {}
  checkKeys('the patch of prepareStep', patch, patchKeys)
  for (const key of ['activeTools', 'messages'] as const) checkList(key, patch[key])
  checkText('instructions', patch.instructions)
  checkToolChoice('toolChoice', patch.toolChoice)
  checkRuntimeParams(patch.runtimeParams)
  checkMessages('messages', patch.messages ?? [])
  return patch
}

/** Calls the agent's conditions once after each step that another one could follow. They cannot change a final answer. */
export function stopWhenPlugin(conditions: readonly StopCondition[]): Plugin {
  return {
    name: 'stop-when',
    foreign: { afterStep: ({ outcome }) => mayGoOn(outcome) },
    hooks: { afterStep: (turn, step) => (mayGoOn(step.outcome) ? askConditions(turn, conditions, step) : undefined) },
  }
}

function mayGoOn(outcome: EndedStep['outcome']): boolean {
  return !outcome || modelWouldStop(outcome)
}

async function askConditions(turn: Turn, conditions: readonly StopCondition[], step: EndedStep): Promise<void> {
  const isMet = await isAnyMet(turn, conditions)
  if (turn.stop.stopped) step.outcome = aborted(turn.stop, step.calls)
  else if (isMet) step.outcome = step.outcome ? { ...step.outcome, isLast: true } : { status: 'completed', reason: 'stop-when' }
}

async function isAnyMet(turn: Turn, conditions: readonly StopCondition[]): Promise<boolean> {
  for (const condition of conditions) {
    if (turn.stop.requested) return false
    if (await askOwner(turn, 'stopWhen', async () => yesOrNo('stopWhen', await condition(stepContext(turn))))) return true
  }
  return false
}

const ephemeralTimeoutMs = 5_000

type Ephemeral = NonNullable<AgentOptions['ephemeral']>

/**
 * Adds the agent's `ephemeral` messages to the end of each request, unless the model continues with its answer. They are not
 * stored.
 */
export function ephemeralPlugin(ephemeral: Ephemeral): Plugin {
  return { name: 'ephemeral', hooks: { context: (turn, request) => (turn.isPaused ? undefined : addMessages(turn, ephemeral, request)) } }
}

async function addMessages(turn: Turn, ephemeral: Ephemeral, request: RequestDraft): Promise<void> {
  const messages = await askForMessages(turn, ephemeral)
  turn.transcript.estimate.useEphemeral(messages)
  request.lasting = request.messages
  request.messages = [...request.messages, ...messages]
}

/** Returns no messages if the source fails, and reports the failure. */
async function askForMessages(turn: Turn, ephemeral: Ephemeral): Promise<readonly Message[]> {
  if (turn.stop.requested) return []
  const limit = { clock: turn.clock, abortSignal: turn.stop.signal, timeoutMs: ephemeralTimeoutMs }
  const settled = await settleWithin(limit, () => checkWhenThere(ephemeral(stepContext(turn))))
  if (settled.kind === 'stopped') return []
  if (settled.kind === 'value') return settled.value
  const message = settled.kind === 'failed' ? messageOf(settled.error) : `no answer within ${ephemeralTimeoutMs} ms`
  turn.log.record({ type: 'error', source: 'ephemeral', message, fatal: false })
  return []
}

function checkWhenThere(returned: ReturnType<Ephemeral>): MaybePromise<readonly Message[]> {
  return isThenable(returned) ? Promise.resolve(returned).then(checked) : checked(returned)
}

/** Throws if the value is not a list of messages, or a message cannot be read. */
function checked(messages: readonly Message[]): readonly Message[] {
  checkRequired('ephemeral()', messages, 'a list of messages', Array.isArray)
  checkMessages('ephemeral()', messages)
  return messages
}

function checkMessages(path: string, messages: readonly Message[]): void {
  for (const [index, message] of messages.entries()) {
    const wrong = wrongShape(message)
    if (wrong !== undefined) refuseConfig(`${path}[${index}] ${wrong}`)
  }
}

/** Calls a function of the agent itself. If it fails, the turn ends as an error, because its decision cannot be guessed. */
async function askOwner<Value>(turn: Turn, name: string, ask: () => Value | Promise<Value>): Promise<Value | undefined> {
  try {
    return await turn.stop.until(ask())
  } catch (error) {
    if (turn.stop.requested) return undefined
    const message = messageOf(error)
    turn.log.record({ type: 'error', source: 'extension', name, message, fatal: true })
    turn.stop.stop({
      kind: 'stop',
      status: 'error',
      reason: 'extension-error',
      error: { code: 'extension-error', message: `${name}: ${message}` },
    })
    return undefined
  }
}

/** Returns what functions of the agent get to know before and after a step. */
function stepContext(turn: Turn): StepContext {
  const { transcript, usage, cost, run } = turn
  const { latestAnswer } = transcript
  return Object.freeze({
    runId: turn.runId,
    turn: turn.number,
    step: turn.stepState === 'ended' ? turn.step + 1 : turn.step,
    usage,
    budgetLeft: budgetLeft(turn),
    get messages() {
      return [...transcript.messages]
    },
    ...(latestAnswer && { lastAnswer: latestAnswer }),
    lastOutcomes: transcript.latestResults,
    ...(cost && { cost }),
    ...(run.context !== undefined && { context: run.context }),
  })
}
