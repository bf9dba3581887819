import type { Clock } from '@bowline/llm'
import { ProblemError } from '../problems.ts'
import type { Auth, AuthVerifier } from './auth.ts'
import { bearerVerifier } from './bearer.ts'
import { isTenant, type Principal } from './principal.ts'

const verifierTimeoutMs = 5000
const everybody: Principal = { id: 'local', tenant: 'local', scopes: ['admin'] }

/** Authenticates requests with a configuration that can be replaced. */
export class Authenticator {
  readonly #clock: Clock
  readonly #requests = new WeakMap<Principal, Request>()
  #verify: AuthVerifier
  #generation = 0

  constructor(auth: Auth, clock: Clock) {
    this.#clock = clock
    this.#verify = verifierOf(auth, clock)
  }

  /** Returns the caller of a request. Throws `unauthenticated` for an unknown caller, without a reason. */
  async authenticate(request: Request): Promise<Principal> {
    const known = await this.#verify(request)
    if (!known || (known.expiresAt !== undefined && known.expiresAt <= this.#clock.now())) throw unauthenticated()
    // A new object for each request, even if a verifier returns the same one twice.
    const principal = { ...known }
    this.#requests.set(principal, request)
    return principal
  }

  replace(auth: Auth): void {
    this.#verify = verifierOf(auth, this.#clock)
    this.#generation += 1
  }

  /** Counter that changes when the configuration is replaced. */
  get generation(): number {
    return this.#generation
  }

  /** Returns true if authenticating the request again would give exactly the same principal. */
  async stillKnows(principal: Principal): Promise<boolean> {
    const request = this.#requests.get(principal)
    if (!request) return false
    try {
      return fingerprint(await this.authenticate(request)) === fingerprint(principal)
    } catch {
      // The caller is unknown, or the check failed. A new request of the caller gets the reason.
      return false
    }
  }
}

export function unauthenticated(): ProblemError {
  return new ProblemError('unauthenticated', 'Send valid credentials.', { headers: { 'www-authenticate': 'Bearer' } })
}

function verifierOf(auth: Auth, clock: Clock): AuthVerifier {
  if (auth === 'none') return () => Promise.resolve(everybody)
  return guardVerifier(typeof auth === 'function' ? auth : bearerVerifier(auth, clock), clock)
}

/** Wraps a verifier so that it denies access if it throws or hangs. */
function guardVerifier(verifier: AuthVerifier, clock: Clock): AuthVerifier {
  return async (request) => {
    const late = Promise.withResolvers<never>()
    const cancel = clock.setTimer(clock.now() + verifierTimeoutMs, () => late.reject(new Error('The verifier took too long.')), {
      hold: true,
    })
    try {
      const principal = await Promise.race([verifier(request), late.promise])
      // A tenant with other characters could name sessions of another tenant.
      if (principal && !isTenant(principal.tenant)) throw new Error('The verifier returned a principal without a valid tenant.')
      return principal
    } catch (error) {
      throw new ProblemError('auth-unavailable', 'The credentials could not be checked.', { cause: error })
    } finally {
      cancel()
    }
  }
}

function fingerprint({ id, tenant, scopes, expiresAt }: Principal): string {
  return JSON.stringify([id, tenant, [...scopes].sort(), expiresAt])
}
