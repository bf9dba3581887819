import type { ArgumentCheck, FieldChecks } from '@bowline/llm/arguments'
import {
  checkBoolean,
  checkFunction,
  checkJournal,
  checkKeys,
  checkList,
  checkMethods,
  checkName,
  checkOneOf,
  checkRequired,
  checkRuntimeParams,
  checkSignal,
  checkText,
  checkWhole,
  refuseConfig,
} from '../base/checks.ts'
import type { RunOptions, ToolFields } from '../contract/agent.ts'
import { checkToolFields, checkToolName, checkToolSchema } from '../tools/tool.ts'

const oneOf =
  (...allowed: readonly string[]): ArgumentCheck =>
  (path, value) =>
    checkOneOf(path, value, allowed)
const methods =
  (...names: readonly string[]): ArgumentCheck =>
  (path, value) =>
    checkMethods(path, value, names)
const anything: ArgumentCheck = () => undefined
const count: ArgumentCheck = (path, value) => checkWhole(path, value, 0)

const checks: FieldChecks<RunOptions> = {
  messages: anything,
  context: anything,
  limits: anything,
  overlays: checkList,
  remoteTools: checkRemoteTools,
  channel: checkText,
  sessionKey: checkText,
  source: checkText,
  runId: checkText,
  random: checkFunction,
  onApproval: checkFunction,
  mode: oneOf('live', 'synchronized'),
  onBreak: oneOf('continue', 'abort'),
  onInputWhilePending: oneOf('refuse', 'cancel'),
  onUnknownOutcome: oneOf('stop', 'tell-model'),
  onFailedTurn: oneOf('keep', 'rewind'),
  driverTimeoutMs: count,
  clock: methods('now', 'setTimer'),
  ids: methods('next'),
  budget: methods('reserve', 'charge'),
  session: methods('fork', 'switchTo', 'compact', 'send'),
  runtimeParams: (_path, value) => checkRuntimeParams(value),
  abortSignal: checkSignal,
  outputRepairs: count,
  output: checkToolSchema,
  journal: checkJournal,
  pinned: checkPinned,
}
const optionKeys = Object.keys(checks)

/** Checks the options of a run. Throws `invalid-config`. */
export function checkRunOptions(options: RunOptions): void {
  checkKeys('run.options', options, optionKeys)
  for (const [name, value] of Object.entries(options)) if (value !== undefined) checks[name as keyof RunOptions](name, value)
  if (options.journal && options.messages) refuseConfig('a run has either a journal or messages, not both')
}

export function checkOutput({ output, outputRepairs }: Pick<RunOptions, 'output' | 'outputRepairs'>): void {
  checkWhole('outputRepairs', outputRepairs, 0)
  if (output !== undefined) checkToolSchema('output', output)
}

export function checkReaderOptions(options: unknown): void {
  if (options === undefined) return
  checkKeys('events.options', options, ['deltas', 'afterSeq'])
  const { deltas, afterSeq } = options as Readonly<Record<string, unknown>>
  checkBoolean('deltas', deltas)
  checkWhole('afterSeq', afterSeq, 0)
}

function checkRemoteTools(place: string, tools: unknown): void {
  checkList(place, tools)
  for (const [index, tool] of ((tools ?? []) as readonly unknown[]).entries()) {
    const path = `${place}[${index}]`
    checkKeys(path, tool, ['name', 'description', 'inputSchema', 'label', 'effect'])
    checkToolName(`${path}.name`, (tool as ToolFields).name)
    checkToolFields(`${path}.`, tool as ToolFields)
  }
}

function checkPinned(_path: string, pinned: unknown): void {
  checkKeys('pinned', pinned, ['hash', 'instructions', 'model', 'tools'])
  const { hash, instructions, model, tools } = pinned as Readonly<Record<string, unknown>>
  checkName('pinned.hash', hash)
  checkRequired('pinned.instructions', instructions, 'a text', (given) => typeof given === 'string')
  checkKeys('pinned.model', model, ['provider', 'modelId'])
  const { provider, modelId } = model as Readonly<Record<string, unknown>>
  checkName('pinned.model.provider', provider)
  checkName('pinned.model.modelId', modelId)
  checkRequired('pinned.tools', tools, 'a list of tools', Array.isArray)
}
