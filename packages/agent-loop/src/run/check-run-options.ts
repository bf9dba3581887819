import {
  checkFunction,
  checkJournal,
  checkKeys,
  checkList,
  checkMethods,
  checkOneOf,
  checkRuntimeParams,
  checkSignal,
  checkText,
  checkWhole,
  refuseConfig,
} from '../agent/check-options.ts'
import type { RunOptions } from '../agent/options.ts'

const optionKeys: readonly (keyof RunOptions)[] = [
  ...(['journal', 'messages', 'overlays', 'runtimeParams', 'remoteTools', 'pinned', 'channel', 'sessionKey', 'source'] as const),
  ...(['context', 'runId', 'mode', 'onBreak', 'driverTimeoutMs', 'onInputWhilePending', 'onUnknownOutcome'] as const),
  ...(['onFailedTurn', 'limits', 'budget', 'abortSignal', 'clock', 'ids', 'random', 'onApproval'] as const),
]

/** Throws `invalid-config`. */
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
  checkRuntimeParams(options.runtimeParams)
  checkSignal('abortSignal', options.abortSignal)
  checkMethods('budget', options.budget, ['reserve', 'charge'])
  if (options.journal !== undefined) checkJournal('journal', options.journal)
  if (options.journal && options.messages) refuseConfig('a run has either a journal or messages, not both')
}
