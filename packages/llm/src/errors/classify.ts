import { field } from '../json.ts'
import type { ErrorKind, ModelError } from '../model-error.ts'
import {
  certificateNames,
  errorNames,
  exactCodes,
  groupCodes,
  groupOfStatus,
  kindOfGroup,
  type Group,
} from './codes.ts'
import { retryDelayMs } from './delays.ts'
import { isModelError, modelError, traitsOf } from './error-kinds.ts'
import { readFacts, type ErrorFacts } from './shapes.ts'
import { signs } from './signs.ts'

/** What the caller knows about the call that failed. */
export interface ErrorContext {
  readonly provider?: string
  readonly modelId?: string
  /** The signal of the call: when it is aborted, so is the error. */
  readonly abortSignal?: AbortSignal
  /** Whether content had been delivered. Default `before-output`. */
  readonly phase?: ModelError['phase']
  /** Epoch milliseconds against which dates of the provider are read. Default: now. */
  readonly now?: number
}

const deepestCause = 8

/**
 * Says what went wrong, as data. It must accept any value and must not throw; a `ModelError` is given back unchanged.
 * The original error stays as `cause`, which JSON does not show.
 */
export function classifyError(error: unknown, context: ErrorContext = {}): ModelError {
  try {
    return isModelError(error) ? error : classify(error, context)
  } catch {
    const { provider, modelId, phase } = context
    return modelError('unknown', 'the error could not be read', { provider, modelId, phase })
  }
}

function classify(error: unknown, context: ErrorContext): ModelError {
  const chain = chainOf(error)
  const source = chain.find(({ facts }) => isTelling(facts)) ?? chain[0]
  const facts = source?.facts ?? readFacts(undefined)
  const { kind, ...verdict } = verdictOf(
    chain.map((link) => link.facts),
    facts,
    context,
  )
  const advised = adviceOf(facts.headers['x-should-retry'], kind)
  const retryable = advised ?? verdict.retryable ?? traitsOf[kind].retryable
  const classified = modelError(kind, facts.message, {
    retryable,
    status: facts.status,
    code: facts.code ?? facts.statusWord,
    type: facts.type,
    param: facts.param,
    provider: context.provider,
    modelId: context.modelId,
    requestId: facts.requestId,
    retryAfterMs: retryable ? retryDelayMs(facts, context.now ?? Date.now()) : undefined,
    phase: context.phase,
  })
  return Object.defineProperty(classified, 'cause', { value: error, enumerable: false })
}

interface Verdict {
  readonly kind: ErrorKind
  readonly retryable?: boolean
}

/** The order of decision: own signal, structured codes, status and phrase, names along the causes. */
function verdictOf(chain: readonly ErrorFacts[], facts: ErrorFacts, context: ErrorContext): Verdict {
  if (context.abortSignal?.aborted) return { kind: 'aborted' }
  const exact = exactKind(facts)
  if (exact) return { kind: exact }
  const group = groupOf(facts)
  const told = group && kindWithin(group, facts, context)
  if (told) return { kind: told }
  const untyped = phraseKind('none', facts.message)
  if (untyped) return { kind: untyped }
  return namedKind(chain) ?? { kind: 'unknown', retryable: facts.status === undefined }
}

function exactKind(facts: ErrorFacts): ErrorKind | undefined {
  const named = [facts.code, facts.type, facts.statusWord].map((name) => lookUp(exactCodes, name)).find(Boolean)
  if (named) return named
  const reasons = facts.details.map((detail) => detail['reason'])
  if (reasons.includes('API_KEY_INVALID')) return 'auth-permanent'
  return onlyDailyQuotas(facts) ? 'billing' : undefined
}

/** Google says with the same word that a minute's or a day's quota is used up; only the quota's id tells. */
function onlyDailyQuotas(facts: ErrorFacts): boolean {
  const violations = facts.details.flatMap((detail) =>
    Array.isArray(detail['violations']) ? (detail['violations'] as unknown[]) : [],
  )
  const ids = violations.map((violation) => field(violation, 'quotaId')).filter((id) => typeof id === 'string')
  return ids.length > 0 && ids.every((id) => id.includes('PerDay'))
}

function groupOf(facts: ErrorFacts): Group | undefined {
  const named = [facts.code, facts.type, facts.statusWord].map((name) => lookUp(groupCodes, name)).find(Boolean)
  const answered = groupOfStatus(facts.status)
  // This type stands on answers of every 4xx status, which then say more than the type does.
  const statusSaysMore =
    named === 'bad-request' && answered !== undefined && facts.status !== undefined && facts.status < 500
  return statusSaysMore ? answered : (named ?? answered)
}

function kindWithin(group: Group, facts: ErrorFacts, { provider }: ErrorContext): ErrorKind {
  // Anthropic's front answers 413 without its usual body: there it is the size in bytes, not in tokens.
  if (group === 'too-large' && provider?.includes('anthropic')) return 'payload-too-large'
  return phraseKind(group, facts.message) ?? kindOfGroup[group]
}

function phraseKind(group: Group, message: string): ErrorKind | undefined {
  return signs.find(
    (sign) => sign.groups.includes(group) && sign.phrase.test(message) && (sign.where?.(message) ?? true),
  )?.kind
}

function namedKind(chain: readonly ErrorFacts[]): Verdict | undefined {
  for (const { code, name } of chain) {
    if (code && certificateNames.test(code)) return { kind: 'network', retryable: false }
    const kind = lookUp(errorNames, code) ?? lookUp(errorNames, name)
    if (kind) return { kind }
  }
  const disconnected = /^(fetch failed|failed to fetch|socket hang up|network error)$/i
  if (chain.some(({ message }) => disconnected.test(message))) return { kind: 'network' }
  // A connection that broke in mid-body often has no code anywhere, only a telling cause.
  const kind = chain.map(({ message }) => phraseKind('none', message)).find(Boolean)
  return kind && { kind }
}

/** What the provider's `x-should-retry` may change: anything may be forbidden, only some kinds may be allowed. */
function adviceOf(header: string | undefined, kind: ErrorKind): boolean | undefined {
  if (header === 'false') return false
  const mayAllow = kind === 'unknown' || kind === 'server-error' || kind === 'rate-limit'
  return header === 'true' && mayAllow ? true : undefined
}

interface Link {
  readonly error: unknown
  readonly facts: ErrorFacts
}

/** The error and what caused it, without cycles. Wrappers give way to what they wrap. */
function chainOf(error: unknown): Link[] {
  const chain: Link[] = []
  const seen = new Set<unknown>()
  for (let link = error; chain.length < deepestCause && !seen.has(link); link = wrappedBy(link)) {
    if (link === undefined && chain.length > 0) break
    seen.add(link)
    chain.push({ error: link, facts: readFacts(link) })
  }
  return chain
}

function wrappedBy(error: unknown): unknown {
  const errors = field(error, 'errors')
  return (
    field(error, 'lastError') ??
    (Array.isArray(errors) ? (errors as unknown[])[0] : undefined) ??
    field(error, 'cause') ??
    undefined
  )
}

/** Whether this link of the chain carries a provider's answer, so that its facts speak for the whole. */
function isTelling(facts: ErrorFacts): boolean {
  return (
    facts.status !== undefined ||
    facts.statusWord !== undefined ||
    groupOf(facts) !== undefined ||
    exactKind(facts) !== undefined
  )
}

function lookUp<T>(table: Readonly<Record<string, T>>, name: string | undefined): T | undefined {
  return name !== undefined && Object.hasOwn(table, name) ? table[name] : undefined
}
