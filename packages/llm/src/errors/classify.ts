import { check, fieldsOf } from '../check.ts'
import { field } from '../json.ts'
import type { ErrorKind, ModelError } from '../model-error.ts'
import { causesOf } from './causes.ts'
import { exactCodes, groupCodes, groupOfStatus, kindOfGroup, lookUp, type Group } from './codes.ts'
import { retryDelayMs } from './delays.ts'
import { isModelError, modelError, traitsOf } from './error-kinds.ts'
import { isBrokenStream, isBug, isDisconnected, kindOfName } from './error-names.ts'
import type { ErrorFacts } from './shapes.ts'
import { limitsOf, signOf } from './signs.ts'
import { isQuotaOfNothing } from './signs/billing.ts'

/** Facts about the failed call that its error may not contain. */
export interface ErrorContext {
  readonly provider?: string
  readonly modelId?: string
  /** Signal of the call. If it is aborted, the error is `aborted`. */
  readonly abortSignal?: AbortSignal
  /** Whether content had been delivered before the error. Default `before-output`. */
  readonly phase?: ModelError['phase']
  /** Current time in epoch milliseconds, for dates in provider responses. Default: now. */
  readonly now?: number
}

/**
 * Converts any error of a model call to data. A `ModelError` is returned unchanged. The original error is kept as `cause`, which
 * JSON does not show. Throws `LlmError` only if the context is invalid.
 */
export function classifyError(error: unknown, context: ErrorContext = {}): ModelError {
  checkContext(context)
  try {
    return isModelError(error) ? error : classify(error, context)
  } catch {
    const { provider, modelId, phase } = context
    return modelError('unknown', 'the error could not be read', { provider, modelId, phase })
  }
}

function checkContext(context: ErrorContext): void {
  const { provider, modelId, abortSignal, phase, now } = fieldsOf('classifyError.context', context, [
    'provider',
    'modelId',
    'abortSignal',
    'phase',
    'now',
  ])
  check.checkText('context.provider', provider)
  check.checkText('context.modelId', modelId)
  check.checkSignal('context.abortSignal', abortSignal)
  check.checkOneOf('context.phase', phase, ['before-output', 'after-output'])
  check.checkNumber('context.now', now, 0)
}

function classify(error: unknown, context: ErrorContext): ModelError {
  const chain = causesOf(error)
  const facts = chain.find(isTelling) ?? chain[0]
  const { kind, ...verdict } = verdictOf(chain, facts, context)
  const advised = adviceOf(facts.headers['x-should-retry'], kind)
  const retryable = advised ?? verdict.retryable ?? traitsOf[kind].retryable
  const countsTokens = kind === 'context-overflow' || kind === 'output-budget'
  const classified = modelError(kind, facts.message, {
    retryable,
    status: facts.status,
    code: facts.code ?? facts.statusWord ?? verdict.code,
    type: facts.type,
    param: facts.param,
    provider: context.provider,
    modelId: context.modelId,
    requestId: facts.requestId,
    retryAfterMs: retryable ? retryDelayMs(facts, context.now ?? Date.now()) : undefined,
    phase: context.phase,
    limits: countsTokens ? limitsOf(facts.message) : undefined,
  })
  return Object.defineProperty(classified, 'cause', { value: error, enumerable: false })
}

interface Verdict {
  readonly kind: ErrorKind
  readonly retryable?: boolean
  /** System error code, if it determined the kind. */
  readonly code?: string
}

/** Decides in this order: own signal, structured codes, status and phrase, error names along the causes, their messages. */
function verdictOf(chain: readonly ErrorFacts[], facts: ErrorFacts, context: ErrorContext): Verdict {
  if (context.abortSignal?.aborted) return { kind: 'aborted' }
  const told = exactKind(facts) ?? kindWithin(facts, context)
  if (told) return { kind: told }
  return namedVerdict(chain) ?? { kind: 'unknown', retryable: facts.status === undefined }
}

function exactKind(facts: ErrorFacts): ErrorKind | undefined {
  return facts.words.map((word) => lookUp(exactCodes, word)).find(Boolean) ?? quotaKind(facts)
}

/** Google uses the same word for an exhausted quota per minute and per day. Only the id of the quota tells them apart. */
function quotaKind({ details, message }: ErrorFacts): ErrorKind | undefined {
  const violations = details.flatMap(({ violations }) => (Array.isArray(violations) ? (violations as unknown[]) : []))
  const ids = violations.map((violation) => field(violation, 'quotaId')).filter((id) => typeof id === 'string')
  if (ids.length === 0) return undefined
  if (ids.every((id) => id.includes('PerDay'))) return 'billing'
  // Google uses the same message for an exhausted minute and for missing credit. Only a quota of zero always means missing credit.
  return isQuotaOfNothing(message) ? 'billing' : 'rate-limit'
}

function kindWithin(facts: ErrorFacts, { provider }: ErrorContext): ErrorKind | undefined {
  const groups = groupsOf(facts)
  const sign = groups.map((group) => signOf(group, facts.message)).find(Boolean)
  if (sign) return sign.kind
  const last = groups.at(-1)
  // The front end of Anthropic answers 413 without the usual body. There it means the size in bytes, not in tokens.
  if (last === 'too-large' && provider?.includes('anthropic')) return 'payload-too-large'
  return last && kindOfGroup[last]
}

/** Returns the groups in which to look for phrases, in order. If no phrase matches, the last group decides. */
function groupsOf(facts: ErrorFacts): readonly Group[] {
  const named = facts.words.map((word) => lookUp(groupCodes, word)).find(Boolean)
  const answered = groupOfStatus(facts.status)
  if (!answered) return named ? [named] : []
  if (!named) return facts.inStream ? ['none', answered] : [answered]
  // `bad-request` types occur with every 4xx status. A specific status says more than the type.
  const statusSaysMore = named === 'bad-request' && facts.status !== undefined && facts.status < 500
  return [statusSaysMore ? answered : named]
}

/** Decides by the errors themselves. Names come before messages, because the message of a parser repeats model output. */
function namedVerdict(chain: readonly ErrorFacts[]): Verdict | undefined {
  const named = chain.map(({ code, name }) => kindOfName(code, name)).find(Boolean)
  const isBroken = chain.some(({ message }) => isBrokenStream(message))
  if (isBroken && named?.kind !== 'timeout') return { kind: 'stream-broken' }
  if (named) return named
  if (chain.some(({ message }) => isDisconnected(message))) return { kind: 'network' }
  if (isBug(chain[0]?.name)) return { kind: 'unknown', retryable: false }
  const sign = chain.map(({ message }) => signOf('none', message)).find(Boolean)
  return sign && { kind: sign.kind }
}

/** Applies the `x-should-retry` header: it may forbid a retry for any kind, but allow one only for some. */
function adviceOf(header: string | undefined, kind: ErrorKind): boolean | undefined {
  if (header === 'false') return false
  const mayAllow = kind === 'unknown' || kind === 'server-error' || kind === 'rate-limit'
  return header === 'true' && mayAllow ? true : undefined
}

/** Returns whether this error of the chain carries a provider's response, so that its facts stand for the whole chain. */
function isTelling(facts: ErrorFacts): boolean {
  const { status, statusWord } = facts
  return status !== undefined || statusWord !== undefined || !!exactKind(facts) || groupsOf(facts).length > 0
}
