import { definedOnly } from '../json.ts'
import type { ErrorKind, ModelError } from '../model-error.ts'
import { maskSecrets } from './mask-secrets.ts'

type Traits = Pick<ModelError, 'retryable' | 'recovery'>

const wait = { retryable: true, recovery: 'wait' } as const
const never = { retryable: false } as const

/** Whether each kind is retryable, and its recovery. */
export const traitsOf: Readonly<Record<ErrorKind, Traits>> = {
  aborted: never,
  network: wait,
  timeout: wait,
  'rate-limit': wait,
  overloaded: wait,
  'server-error': wait,
  billing: never,
  auth: { retryable: false, recovery: 'refresh-auth' },
  'auth-permanent': never,
  permission: never,
  'model-not-found': never,
  'context-overflow': { retryable: false, recovery: 'compact' },
  'output-budget': { retryable: false, recovery: 'lower-output' },
  'payload-too-large': { retryable: false, recovery: 'shrink' },
  'history-invalid': { retryable: false, recovery: 'repair-history' },
  'content-blocked': never,
  'bad-request': never,
  'empty-response': { retryable: true },
  'malformed-response': { retryable: true },
  'stream-broken': { retryable: true },
  config: never,
  unknown: wait,
}

type Facts = { [K in keyof Omit<ModelError, 'kind' | 'message' | 'phase'>]?: ModelError[K] | undefined } & {
  readonly phase?: ModelError['phase'] | undefined
}

const longestMessage = 2_000
/** Far above the length of real names; a longer value is echoed input. */
const longestName = 200

/** Creates a `ModelError` with the traits of its kind. `facts` override the traits. */
export function modelError(kind: ErrorKind, message: string, facts: Facts = {}): ModelError {
  const { retryable, recovery } = { ...traitsOf[kind], ...definedOnly(facts) }
  const advice = { retryable, recovery: recovery === 'wait' && !retryable ? undefined : recovery }
  const text = maskSecrets(message).slice(0, longestMessage).toWellFormed()
  return { kind, message: text, phase: 'before-output', ...definedOnly({ ...facts, ...shortNames(facts), ...advice }) }
}

function shortNames({ code, type, param, requestId }: Facts): Pick<Facts, 'code' | 'type' | 'param' | 'requestId'> {
  const short = (name: string | undefined): string | undefined => name?.slice(0, longestName).toWellFormed()
  return { code: short(code), type: short(type), param: short(param), requestId: short(requestId) }
}

/** Returns true for results of `modelError`, also after a JSON round trip. */
export function isModelError(value: unknown): value is ModelError {
  if (typeof value !== 'object' || value === null) return false
  const { kind, retryable, message, phase } = value as Partial<ModelError>
  return (
    typeof kind === 'string' &&
    Object.hasOwn(traitsOf, kind) &&
    typeof retryable === 'boolean' &&
    typeof message === 'string' &&
    (phase === 'before-output' || phase === 'after-output')
  )
}
