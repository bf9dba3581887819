import type { FieldChecks } from '@bowline/llm/arguments'
import { inputChecks, longestMs } from '../arguments.ts'
import { checkInputId, checkKey } from '../keys.ts'
import { outputSchemaOf, runtimeParamsOf } from './settings.ts'
import type { CompactOptions, ExportOptions, ForkOptions, SwitchOptions } from './tree/types.ts'
import type {
  DecisionOptions,
  EventsOptions,
  GrantOptions,
  InputOptions,
  MessagesOptions,
  OverlayOptions,
  SendOptions,
  StopOptions,
  SubmitOptions,
} from './types.ts'

const mostOnPage = 1000
const {
  checkBoolean,
  checkName,
  checkRequired,
  checkSignal,
  checkText,
  listOf,
  oneOf,
  optional,
  optionalName,
  optionalRecord,
  record,
  whole,
} = inputChecks

const inputOptions: FieldChecks<InputOptions> = { id: checkInputId, maxQueued: whole(0) }

export const checkSendOptions = optionalRecord<SendOptions>({
  ...inputOptions,
  onBusy: oneOf('queue', 'steer', 'interrupt', 'reject'),
  runtimeParams: (path, value) => void runtimeParamsOf(path, value),
  output: (path, value) => void outputSchemaOf(path, value),
  notBefore: whole(0, longestMs),
  mode: oneOf('live', 'synchronized'),
  driverTimeoutMs: whole(0, longestMs),
})

export const checkInputOptions = optionalRecord<InputOptions>(inputOptions)

export const checkOverlayOptions = optionalRecord<OverlayOptions>({ id: checkInputId, turns: whole(1) })

const ending = { reason: checkText, waitMs: whole(0, longestMs) }

export const checkStopOptions = optionalRecord<StopOptions>({ ...ending, runId: optionalName, scope: oneOf('active', 'all') })

/** Checks the options for stopping one run. */
export const checkRunStopOptions = optionalRecord<Pick<StopOptions, 'reason' | 'waitMs'>>(ending)

export const checkResultOptions = optionalRecord<{ readonly waitMs?: number }>({ waitMs: ending.waitMs })

export const checkKillOptions = optionalRecord<{ readonly reason?: string }>({ reason: checkText })

export const checkSubmitOptions = optionalRecord<SubmitOptions>({ unknownOutcomes: checkBoolean })

export const checkDecisionOptions = optionalRecord<DecisionOptions>({
  inputHash: optionalName,
  input: () => undefined,
  reason: checkText,
  by: checkText,
})

export const checkGrantOptions = record<GrantOptions>({
  tokens: whole(0),
  cost: (path, value) => value === undefined || checkRequired(path, value, 'a number or a decimal such as "2.50", 0 or more', isAmount),
  reason: checkText,
  by: checkText,
})

function isAmount(value: unknown): boolean {
  return typeof value === 'number' ? value >= 0 && value <= 1e12 : typeof value === 'string' && /^\d{1,12}(\.\d{1,15})?$/.test(value)
}

export const checkResolveOptions = optionalRecord<{ readonly path?: readonly string[] }>({
  path: listOf(checkName),
})

export const checkForkOptions = optionalRecord<ForkOptions>({
  entryId: optionalName,
  key: optional((path, value) => checkKey(value as string, path)),
  // Checked when it is copied.
  metadata: () => undefined,
})

export const checkSwitchOptions = optionalRecord<SwitchOptions>({
  summarize: checkBoolean,
  instructions: checkText,
  abortSignal: checkSignal,
})

export const checkCompactOptions = optionalRecord<CompactOptions>({ instructions: checkText })

export const checkExportOptions = optionalRecord<ExportOptions>({ events: checkBoolean, allBranches: checkBoolean })

export const checkLabelsOptions = optionalRecord<{ readonly leaf?: string }>({ leaf: optionalName })

/** The cursor is parsed later, by the reader. */
const reading = { cursor: () => undefined, abortSignal: checkSignal, bufferBytes: whole(1) }

export const checkEventsOptions = optionalRecord<EventsOptions>({ ...reading, live: oneOf(true, false, 'so-far'), runId: optionalName })

export const checkRunEventsOptions = optionalRecord<Pick<EventsOptions, 'cursor' | 'abortSignal' | 'bufferBytes'>>(reading)

export const checkMessagesOptions = optionalRecord<MessagesOptions>({
  leaf: optionalName,
  before: optionalName,
  limit: whole(1, mostOnPage),
})
