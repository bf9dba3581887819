import type { Clock } from '@bowline/llm'
import type { Principal } from '../auth/principal.ts'
import { networkOf } from '@bowline/sessions/internal'
import type { Limits } from '../limits.ts'
import { ProblemError } from '../problems.ts'
import type { CreateRateLimiter, RateLimiter, RateLimitName, RateLimitPolicy, RateLimitState } from './rate-limiter.ts'

/** Buckets that a request takes from. `control` is for requests that must work when all other buckets are empty. */
export type Rate = 'read' | 'work' | 'control'

type Headers = Readonly<Record<string, string>>
type Bucket = { readonly policy: RateLimitPolicy; readonly limiter: RateLimiter }

const windowMs = 60_000
const msPerSecond = 1000
/** Timeout of the limiter in ms. */
const patienceMs = 1000

const bucketsOf: Readonly<Record<Rate, readonly RateLimitName[]>> = {
  read: ['requests'],
  work: ['requests', 'work'],
  control: ['control'],
}

export interface RateLimitsOptions {
  /** Absent if requests are not limited. */
  readonly create: CreateRateLimiter | undefined
  readonly limits: Required<Limits>
  readonly clock: Clock
  /** Receives errors of the limiter. Reads then pass uncounted. */
  readonly onFault: (error: unknown) => void
}

/** Rate limits of requests per principal, and of failed logins per address. */
export class RateLimits {
  readonly #options: RateLimitsOptions
  readonly #buckets = new Map<RateLimitName, Bucket>()

  constructor(options: RateLimitsOptions) {
    this.#options = options
    const { create, limits } = options
    const points: Readonly<Record<RateLimitName, number>> = {
      requests: limits.requestsPerMinute,
      work: limits.workPerMinute,
      control: limits.requestsPerMinute,
      'auth-failures': limits.authFailuresPerMinute,
    }
    for (const [name, each] of Object.entries(points) as [RateLimitName, number][]) {
      if (!create || each === Infinity) continue
      const policy: RateLimitPolicy = { name, points: each, windowMs }
      this.#buckets.set(name, { policy, limiter: create(policy) })
    }
  }

  /**
   * Takes points and returns the headers that state the rest. Throws `rate-limited`. For work, throws `store-unavailable` if the
   * limiter fails.
   */
  async take(rate: Rate, { tenant, id }: Principal): Promise<Headers> {
    const counted: (Bucket & { readonly state: RateLimitState })[] = []
    for (const name of bucketsOf[rate]) {
      const bucket = this.#buckets.get(name)
      if (!bucket) continue
      // A tenant contains no slash, so the keys of two principals never collide.
      const state = await this.#ask(bucket.limiter.take(`${tenant}/${id}`))
      if (state) counted.push({ ...bucket, state })
      else if (rate === 'work')
        throw new ProblemError('store-unavailable', 'Rate limits cannot be checked now, so new work is refused. Retry later.')
      if (state && !state.allowed) break
    }
    const headers = headersOf(counted)
    const last = counted.at(-1)
    if (last && !last.state.allowed) throw tooMany(`requests of this kind: ${last.policy.points}`, last.state, headers)
    return headers
  }

  /** Throws `rate-limited` for an address with too many failed logins, before credentials are checked. */
  async checkAddress(address: string | undefined): Promise<void> {
    const bucket = this.#buckets.get('auth-failures')
    const state = bucket && (await this.#ask(bucket.limiter.look(networkOf(address))))
    if (state && !state.allowed) throw tooMany(`failed logins: ${bucket.policy.points}`, state, {})
  }

  async countFailure(address: string | undefined): Promise<void> {
    const bucket = this.#buckets.get('auth-failures')
    if (bucket) await this.#ask(bucket.limiter.take(networkOf(address)))
  }

  /** Returns undefined if the limiter fails. */
  async #ask(asked: Promise<RateLimitState>): Promise<RateLimitState | undefined> {
    const { clock, onFault } = this.#options
    const late = Promise.withResolvers<never>()
    const cancel = clock.setTimer(clock.now() + patienceMs, () => late.reject(new Error('The rate limiter took too long.')), { hold: true })
    try {
      return await Promise.race([asked, late.promise])
    } catch (error) {
      onFault(error)
      return undefined
    } finally {
      cancel()
    }
  }
}

function headersOf(counted: readonly { readonly policy: RateLimitPolicy; readonly state: RateLimitState }[]): Headers {
  if (counted.length === 0) return {}
  const item = (name: string, fields: object): string =>
    [`"${name}"`, ...Object.entries(fields).map(([key, value]) => `${key}=${value}`)].join(';')
  return {
    'ratelimit-policy': counted
      .map(({ policy: { name, points, windowMs: w } }) => item(name, { q: points, w: w / msPerSecond }))
      .join(', '),
    ratelimit: counted
      .map(({ policy: { name }, state: { remaining, resetMs } }) => item(name, { r: remaining, t: Math.ceil(resetMs / msPerSecond) }))
      .join(', '),
  }
}

function tooMany(what: string, { resetMs }: RateLimitState, headers: Headers): ProblemError {
  return new ProblemError('rate-limited', `The limit per minute is reached (${what}). Retry later.`, {
    retryAfterMs: Math.max(1, Math.ceil(resetMs)),
    headers,
  })
}
