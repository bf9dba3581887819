import { runtimeParamsSchema } from '@bowline/llm'
import { checkFunction, checkKeys, checkOneOf, checkText, checkWhole, refuseConfig } from '../agent/check-options.ts'
import type { RunOptions } from '../agent/options.ts'

const optionKeys: readonly (keyof RunOptions)[] = [
  ...(['journal', 'messages', 'overlays', 'runtimeParams', 'remoteTools', 'pinned', 'channel', 'sessionKey', 'source'] as const),
  ...(['context', 'runId', 'mode', 'onBreak', 'driverTimeoutMs', 'onInputWhilePending', 'onUnknownOutcome'] as const),
  ...(['onFailedTurn', 'limits', 'budget', 'abortSignal', 'clock', 'ids', 'random', 'onApproval'] as const),
]

/** Throws `invalid-config`. */
export function checkRunOptions(options: RunOptions): void {
  checkKeys('a run', options, optionKeys)
  checkOneOf('mode', options.mode, ['live', 'synchronized'])
  checkOneOf('onBreak', options.onBreak, ['continue', 'abort'])
  checkOneOf('onInputWhilePending', options.onInputWhilePending, ['refuse', 'cancel'])
  checkOneOf('onUnknownOutcome', options.onUnknownOutcome, ['stop', 'tell-model'])
  checkOneOf('onFailedTurn', options.onFailedTurn, ['keep', 'rewind'])
  for (const key of ['channel', 'sessionKey', 'source', 'runId'] as const) checkText(key, options[key])
  checkWhole('driverTimeoutMs', options.driverTimeoutMs, 0)
  for (const key of ['random', 'onApproval'] as const) checkFunction(key, options[key])
  const { error } = options.runtimeParams ? runtimeParamsSchema.safeParse(options.runtimeParams) : {}
  const [issue] = error?.issues ?? []
  if (issue) refuseConfig(`${['runtimeParams', ...issue.path].join('.')}: ${issue.message}`)
  if (options.journal && options.messages) refuseConfig('a run has either a journal or messages, not both')
}
