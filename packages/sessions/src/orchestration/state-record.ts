import type { JSONObject, JSONValue } from '@bowline/llm'
import { describeValue, isRecord, suggestion } from '@bowline/llm/arguments'
import { inputChecks } from '../arguments.ts'
import { SessionError } from '../errors.ts'
import type { TimeToLive, Versioned } from '../contract/state-store.ts'
import { checkJson, copyJson } from '../json.ts'
import { noTokens } from './changes.ts'
import type { OrchestrationState, StatePatch } from './types.ts'

/** A state as it is stored, without the fields that the store keeps itself. */
export interface StateRecord {
  readonly state: OrchestrationState
  /** Keys of the newest changes, oldest first. They identify repeats, and show after a lost answer whether the write was stored. */
  readonly keys: readonly string[]
}

/** Returns default values with the given version, access time and TTL. */
export function freshState(
  sessionId: string,
  { lastAccessed, ttl, version }: Pick<OrchestrationState, 'lastAccessed' | 'ttl' | 'version'>,
): OrchestrationState {
  return deepFreeze({
    sessionId,
    recentlyUsedTools: [],
    toolHistory: [],
    sequenceIndex: 0,
    usesInStep: 0,
    cumulativeTokenUsage: { ...noTokens },
    lastAccessed,
    ttl,
    version,
    schemaVersion: 1 as const,
  })
}

/** Returns the state as it is stored. Throws `invalid-input` if it could not be read again. */
export function toValue({ state, keys }: StateRecord): JSONObject {
  const { sessionId, lastAccessed: _at, ttl: _ttl, version: _version, ...fields } = state
  const value = copyJson({ ...fields, keys }) as unknown as JSONObject
  const fault = faultOf(value)
  if (fault !== undefined) throw new SessionError('invalid-input', `The orchestration state of ${sessionId} must stay valid: ${fault}.`)
  return value
}

export function fromVersioned(sessionId: string, versioned: Versioned): StateRecord {
  const { version, usedAt } = versioned
  const { keys, ...fields } = checkedValue(sessionId, versioned.value)
  return { state: deepFreeze({ ...fields, sessionId, version, lastAccessed: usedAt, ttl: ttlOf(versioned) }), keys }
}

export function ttlOf({ usedAt, expiresAt }: Pick<Versioned, 'usedAt' | 'expiresAt'>): TimeToLive {
  return expiresAt === 'never' ? expiresAt : expiresAt - usedAt
}

type StoredFields = Omit<OrchestrationState, 'sessionId' | 'version' | 'lastAccessed' | 'ttl'> & Pick<StateRecord, 'keys'>

function checkedValue(sessionId: string, value: JSONValue): StoredFields {
  if (isRecord(value) && typeof value['schemaVersion'] === 'number' && value['schemaVersion'] > 1) {
    throw new SessionError(
      'schema-too-new',
      `The orchestration state of ${sessionId} has schema version ${value['schemaVersion']}; this version of @bowline/sessions knows 1. Update it.`,
    )
  }
  const fault = faultOf(value)
  if (fault !== undefined) {
    throw new SessionError('store-corrupt', `The orchestration state of ${sessionId} cannot be read: ${fault}. Replace it with resetState.`)
  }
  return value as unknown as StoredFields
}

/** Returns why a stored value is not a state, or undefined if it is one. */
function faultOf(value: JSONValue): string | undefined {
  if (!isRecord(value)) return `it must be an object; received ${describeValue(value)}`
  const { schemaVersion, keys, ...fields } = value
  if (schemaVersion !== 1) return 'schemaVersion must be 1'
  if (!isTexts(keys)) return 'keys must be a list of names'
  const missing = neededFields.find((name) => !Object.hasOwn(fields, name))
  return missing === undefined ? faultIn(fields) : `${missing} is missing`
}

const neededFields = ['recentlyUsedTools', 'toolHistory', 'sequenceIndex', 'usesInStep', 'cumulativeTokenUsage']

/** Throws `invalid-input` for an invalid patch. Returns a copy, so that the caller cannot change it later. */
export function checkPatch(patch: StatePatch, place = 'patch'): StatePatch {
  inputChecks.checkRequired(place, patch, 'an object', isRecord)
  checkJson(patch, place)
  const given = copyJson(patch)
  inputChecks.checkKeys(place, given, Object.keys(forms))
  const fault = faultIn(given)
  if (fault !== undefined) throw new SessionError('invalid-input', `${place}.${fault}.`)
  return given
}

/** Throws `invalid-input` if a caller passes an invalid state to a sequencer. */
export function checkState(place: string, state: unknown): void {
  inputChecks.checkRequired(place, state, 'an orchestration state', isRecord)
  const { sessionId: _id, lastAccessed: _at, ttl: _ttl, version: _version, ...fields } = state as Readonly<Record<string, JSONValue>>
  const fault = faultOf({ ...fields, keys: [] })
  if (fault !== undefined) throw new SessionError('invalid-input', `${place}.${fault}.`)
}

/** Returns the fault of the first invalid field. */
function faultIn(fields: Readonly<Record<string, unknown>>): string | undefined {
  for (const [key, value] of Object.entries(fields)) {
    const form = Object.hasOwn(forms, key) ? forms[key as keyof StatePatch] : undefined
    if (!form) return `${JSON.stringify(key)} cannot be set${suggestion(key, Object.keys(forms))}`
    if (!form.fits(value)) return `${key} must be ${form.says}; received ${describeValue(value)}`
  }
  return undefined
}

interface Form {
  readonly fits: (value: unknown) => boolean
  readonly says: string
}

const index: Form = { fits: isCount, says: 'a whole number from 0 on' }

const forms: Readonly<Record<keyof Required<StatePatch>, Form>> = {
  activeStep: { fits: (value) => value === null || isText(value), says: 'a name, or null' },
  recentlyUsedTools: {
    fits: (value) => isTexts(value) && value.length <= 10 && new Set(value).size === value.length,
    says: 'a list of at most 10 names without repeats',
  },
  toolHistory: { fits: (value) => Array.isArray(value) && value.length <= 100 && value.every(isUse), says: 'a list of at most 100 uses' },
  sequenceIndex: index,
  usesInStep: index,
  cumulativeTokenUsage: { fits: isTotals, says: 'three whole numbers from 0 on, the last of them the sum' },
  data: { fits: (value) => value === null || isRecord(value), says: 'an object, or null' },
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isText)
}

function isUse(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { tool, at, key, ...others } = value
  return isText(tool) && Number.isFinite(at) && (key === undefined || isText(key)) && Object.keys(others).length === 0
}

function isTotals(value: unknown): boolean {
  if (!isRecord(value)) return false
  const { promptTokens, completionTokens, totalTokens, ...others } = value
  if (!isCount(promptTokens) || !isCount(completionTokens) || Object.keys(others).length > 0) return false
  return totalTokens === promptTokens + completionTokens
}

function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}
