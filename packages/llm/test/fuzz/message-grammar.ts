import { isDeepStrictEqual } from 'node:util'
import type { AssistantMessage, AssistantPart, Usage } from '../../src/index.ts'

export function fault(rule: string, broken: boolean, what: string): string[] {
  return broken ? [`${rule}: ${what}`] : []
}

/** Strict comparison: `undefined` fields, -0, sparse lists and prototypes matter. */
export function survivesJson(value: unknown): boolean {
  return isDeepStrictEqual(JSON.parse(JSON.stringify(value)), value)
}

/** Returns all faults of a finished message, whatever the model has sent. */
export function messageFaults(message: AssistantMessage): string[] {
  return [
    ...fault('L10', !survivesJson(message), 'the message changes in JSON'),
    ...endingFaults(message),
    ...usageFaults(message),
    ...callFaults(message),
    ...message.content.flatMap(partFaults),
    ...extraFaults(message),
  ]
}

function endingFaults(message: AssistantMessage): string[] {
  const { stopReason, error, abortReason, paused, content, rawStopReason, timing, role } = message
  const toRun = content.filter((part) => part.type === 'tool-call' && !part.providerExecuted).length
  return [
    ...fault('L1', role !== 'assistant', `the role is ${String(role)}`),
    ...fault('L25', (error !== undefined) !== (stopReason === 'error'), `stopReason ${stopReason} with error ${error?.kind}`),
    ...fault('L33', abortReason !== undefined && stopReason !== 'aborted', `an abortReason with ${stopReason}`),
    ...fault('L33', !isTextOrAbsent(abortReason) || (abortReason?.length ?? 0) > 500, 'the abortReason is no short text'),
    ...fault('L36', paused !== undefined && (paused !== true || stopReason !== 'stop'), `paused with ${stopReason}`),
    ...fault('L16', stopReason === 'tool-calls' && toRun === 0, 'tool-calls without a call to run'),
    ...fault('L36', stopReason === 'stop' && toRun > 0, 'stop with calls to run'),
    ...fault('L37', !isTextOrAbsent(rawStopReason), 'rawStopReason is no text'),
    ...fault('L25', error?.phase === 'before-output' && content.length > 0, 'before-output, but there is content'),
    ...fault('L25', error?.phase === 'after-output' && content.length === 0, 'after-output, but there is no content'),
    ...fault('L34', !isDuration(timing.totalMs), `totalMs is ${timing.totalMs}`),
    ...fault('L34', !isDuration(timing.firstDeltaMs ?? 0) || (timing.firstDeltaMs ?? 0) > timing.totalMs, 'firstDeltaMs'),
  ]
}

const costFields = ['total', 'input', 'cacheRead', 'cacheWrite', 'output'] as const

function usageFaults({ usage, stopReason, cost }: AssistantMessage): string[] {
  const { estimated, raw, ...counts } = usage
  const isWholeRun = stopReason !== 'error' && stopReason !== 'aborted'
  const sum = sumOf(usage)
  return [
    ...Object.entries(counts).flatMap(([name, value]) =>
      fault('L63', !Number.isFinite(value) || value < 0 || !Number.isInteger(value), `${name} is ${String(value)}`),
    ),
    ...fault('L63', sum !== undefined && usage.totalTokens !== sum, `totalTokens is ${usage.totalTokens}, not ${sum}`),
    ...fault('L65', estimated !== undefined && (estimated !== true || isWholeRun), `estimated with ${stopReason}`),
    ...fault('L63', raw !== undefined && !isFields(raw), 'the raw usage is no object'),
    ...costFields.flatMap((name) => fault('L67', !/^\d+(\.\d+)?$/.test(cost?.[name] ?? '0'), `cost ${name} is ${cost?.[name]}`)),
  ]
}

function sumOf({ inputTokens, outputTokens }: Usage): number | undefined {
  return inputTokens === undefined || outputTokens === undefined ? undefined : inputTokens + outputTokens
}

function callFaults({ content }: AssistantMessage): string[] {
  const ids = content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : []))
  return fault('L14', new Set(ids).size !== ids.length, `two calls with one id among ${ids.join(', ')}`)
}

/** Checks that each field of the part has the type that its part type promises. */
function partFaults(part: AssistantPart): string[] {
  const says = (rule: string, sound: boolean): string[] => fault(rule, !sound, `a bad part ${JSON.stringify(part)}`)
  return [...says('L11', isMetadataOrAbsent(part.providerMetadata)), ...bodyFaults(part, says)]
}

function bodyFaults(part: AssistantPart, says: (rule: string, sound: boolean) => string[]): string[] {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return says('L4', typeof part.text === 'string' && (part.citations === undefined || Array.isArray(part.citations)))
    case 'tool-call':
      return says('L9', isName(part.toolCallId) && isName(part.toolName)).concat(says('L13', isSoundInput(part)))
    case 'tool-result':
      return says('L16', isName(part.toolCallId) && isName(part.toolName) && part.result !== undefined)
    case 'file':
    case 'reasoning-file':
      return says('L10', isName(part.mediaType) && isFileData(part.data))
    case 'source':
      return says('L10', typeof part.id === 'string' && ['url', 'document'].includes(part.sourceType)).concat(
        says('L10', [part.url, part.title, part.mediaType, part.filename].every(isTextOrAbsent)),
      )
    case 'custom':
      return says('L10', isName(part.kind))
    case 'approval-request':
      return says('L10', isName(part.approvalId) && isName(part.toolCallId))
    default:
      return says('L9', part satisfies never)
  }
}

function isSoundInput({ input, invalid, inputText }: Extract<AssistantPart, { type: 'tool-call' }>): boolean {
  if (invalid === undefined) return isFields(input) && inputText === undefined
  const known = ['truncated', 'not-json', 'not-object'].includes(invalid)
  return known && isFields(input) && Object.keys(input).length === 0 && typeof inputText === 'string'
}

function isFileData(data: Extract<AssistantPart, { type: 'file' | 'reasoning-file' }>['data']): boolean {
  return data.type === 'data' ? typeof data.data === 'string' : data.type === 'url' && typeof data.url === 'string'
}

function extraFaults({ response, providerMetadata, warnings }: AssistantMessage): string[] {
  return [
    ...fault('L8', !Object.values(response ?? {}).every(isTextOrAbsent), 'the response holds more than text'),
    ...fault('L8', !(warnings ?? []).every(isFields), 'a warning is no object'),
    ...fault('L11', !isMetadataOrAbsent(providerMetadata), 'the metadata of the message is not per provider'),
  ]
}

function isMetadataOrAbsent(metadata: unknown): boolean {
  return metadata === undefined || (isFields(metadata) && Object.values(metadata).every(isFields))
}

function isFields(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const isName = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isTextOrAbsent = (value: unknown): boolean => value === undefined || typeof value === 'string'
const isDuration = (value: number): boolean => Number.isFinite(value) && value >= 0
