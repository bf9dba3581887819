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

const optionKeys: readonly (keyof RunOptions)[] = [
  ...(['journal', 'messages', 'overlays', 'runtimeParams', 'remoteTools', 'pinned', 'channel', 'sessionKey', 'session', 'source'] as const),
  ...(['context', 'runId', 'mode', 'onBreak', 'driverTimeoutMs', 'onInputWhilePending', 'onUnknownOutcome'] as const),
  ...(['onFailedTurn', 'limits', 'budget', 'output', 'outputRepairs', 'abortSignal', 'clock', 'ids', 'random', 'onApproval'] as const),
]

/** Checks the options of a run. Throws `invalid-config`. */
export function checkRunOptions(options: RunOptions): void {
  checkKeys('run.options', options, optionKeys)
  if (Object.keys(options).length === 0) return
  checkOneOf('mode', options.mode, ['live', 'synchronized'])
  checkOneOf('onBreak', options.onBreak, ['continue', 'abort'])
  checkOneOf('onInputWhilePending', options.onInputWhilePending, ['refuse', 'cancel'])
  checkOneOf('onUnknownOutcome', options.onUnknownOutcome, ['stop', 'tell-model'])
  checkOneOf('onFailedTurn', options.onFailedTurn, ['keep', 'rewind'])
  for (const key of ['channel', 'sessionKey', 'source', 'runId'] as const) checkText(key, options[key])
  checkWhole('driverTimeoutMs', options.driverTimeoutMs, 0)
  for (const key of ['random', 'onApproval'] as const) checkFunction(key, options[key])
  for (const key of ['overlays', 'remoteTools'] as const) checkList(key, options[key])
  checkRemoteTools(options.remoteTools)
  checkMethods('clock', options.clock, ['now', 'setTimer'])
  checkMethods('ids', options.ids, ['next'])
  checkRuntimeParams(options.runtimeParams)
  checkSignal('abortSignal', options.abortSignal)
  checkMethods('budget', options.budget, ['reserve', 'charge'])
  checkMethods('session', options.session, ['fork', 'switchTo', 'compact', 'send'])
  if ('output' in options || 'outputRepairs' in options) checkOutput(options)
  if (options.journal !== undefined) checkJournal('journal', options.journal)
  if (options.pinned !== undefined) checkPinned(options.pinned)
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

function checkRemoteTools(tools: unknown): void {
  for (const [index, tool] of ((tools ?? []) as readonly unknown[]).entries()) {
    const path = `remoteTools[${index}]`
    checkKeys(path, tool, ['name', 'description', 'inputSchema', 'label', 'effect'])
    checkToolName(`${path}.name`, (tool as ToolFields).name)
    checkToolFields(`${path}.`, tool as ToolFields)
  }
}

function checkPinned(pinned: unknown): void {
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
