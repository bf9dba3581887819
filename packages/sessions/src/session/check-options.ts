import { inputChecks, longestMs, type OptionTable } from '../arguments.ts'
import { checkInputId, checkKey } from '../keys.ts'
import { runtimeParamsOf } from './settings.ts'
import type { CompactOptions, ExportOptions, ForkOptions, SwitchOptions } from './tree-types.ts'
import type { DecisionOptions, EventsOptions, InputOptions, MessagesOptions, OverlayOptions, SendOptions, StopOptions, SubmitOptions } from './types.ts'

const mostOnPage = 1000
const { name, checkText, checkBoolean, checkSignal, options, oneOf, whole } = inputChecks

const inputOptions: OptionTable<InputOptions> = { id: checkInputId, maxQueued: whole(0) }

export const checkSendOptions = options<SendOptions>({
  ...inputOptions,
  onBusy: oneOf('queue', 'steer', 'interrupt', 'reject'),
  runtimeParams: (path, value) => void runtimeParamsOf(path, value),
  notBefore: whole(0, longestMs),
  mode: oneOf('live', 'synchronized'),
  driverTimeoutMs: whole(0, longestMs),
})

export const checkInputOptions = options<InputOptions>(inputOptions)

export const checkOverlayOptions = options<OverlayOptions>({ id: checkInputId, turns: whole(1) })

const ending = { reason: checkText, waitMs: whole(0, longestMs) }

export const checkStopOptions = options<StopOptions>({ ...ending, runId: name, scope: oneOf('active', 'all') })

/** Of one run. */
export const checkRunStopOptions = options<Pick<StopOptions, 'reason' | 'waitMs'>>(ending)

export const checkKillOptions = options<{ readonly reason?: string }>({ reason: checkText })

export const checkSubmitOptions = options<SubmitOptions>({ unknownOutcomes: checkBoolean })

export const checkDecisionOptions = options<DecisionOptions>({
  inputHash: name,
  input: () => undefined,
  reason: checkText,
  by: checkText,
})

export const checkResolveOptions = options<{ readonly path?: readonly string[] }>({
  path: inputChecks.listOf((place, id) => inputChecks.checkName(place, id)),
})

export const checkForkOptions = options<ForkOptions>({
  entryId: name,
  key: (path, value) => checkKey(value as string, path),
  // Checked when it is copied.
  metadata: () => undefined,
})

export const checkSwitchOptions = options<SwitchOptions>({ summarize: checkBoolean, instructions: checkText, abortSignal: checkSignal })

export const checkCompactOptions = options<CompactOptions>({ instructions: checkText })

export const checkExportOptions = options<ExportOptions>({ events: checkBoolean, allBranches: checkBoolean })

export const checkLabelsOptions = options<{ readonly leaf?: string }>({ leaf: name })

/** The cursor is parsed where it is used. */
const reading = { cursor: () => undefined, abortSignal: checkSignal, bufferBytes: whole(1) }

export const checkEventsOptions = options<EventsOptions>({ ...reading, live: checkBoolean, runId: name })

export const checkRunEventsOptions = options<Pick<EventsOptions, 'cursor' | 'abortSignal' | 'bufferBytes'>>(reading)

export const checkMessagesOptions = options<MessagesOptions>({ leaf: name, before: name, limit: whole(1, mostOnPage) })
