import type { Clock } from '@bowline/llm'
import { ProblemError } from '../problems.ts'
import { isTenant, type Principal } from './principal.ts'
import { equalInConstantTime, hashToken, tokenFaults, tokenId, type TokenConfig } from './token.ts'

export interface AuthConfig {
  readonly tokens: readonly TokenConfig[]
}

/**
 * Says who makes a request: null for nobody. It must not pass what it cannot check: one that throws, or takes longer
 * than 5 s, ends the request with 503.
 */
export type AuthVerifier = (request: Request) => Promise<Principal | null>

/** `none`: everybody may do everything, and only callers on this machine are answered. */
export type Auth = AuthConfig | AuthVerifier | 'none'

export type Authenticate = (request: Request) => Promise<Principal>

const verifierTimeoutMs = 5000
const bearerForm = /^Bearer +(\S+)$/i
const everybody: Principal = { id: 'local', tenant: 'local', scopes: ['admin'] }
/** Compared with when no token has the id, so that an unknown id takes the way of a wrong secret. */
const noHash = `sha256:${'0'.repeat(64)}`

/** Throws `unauthenticated` for whoever it does not know, without a reason. */
export function createAuthenticate(auth: Auth, clock: Clock): Authenticate {
  if (auth === 'none') return () => Promise.resolve(everybody)
  const verify = typeof auth === 'function' ? guardVerifier(auth, clock) : tokenVerifier(auth, clock)
  return async (request) => {
    const principal = await verify(request)
    if (!principal || (principal.expiresAt !== undefined && principal.expiresAt <= clock.now())) throw unauthenticated()
    return principal
  }
}

/** Everything that is wrong with it. */
export function authFaults(auth: Auth | undefined): readonly string[] {
  if (auth === undefined) return ["auth is required: tokens, a verifier, or 'none' for this machine only"]
  if (auth === 'none' || typeof auth === 'function') return []
  const ids = auth.tokens.map((token) => token.id)
  return [
    ...auth.tokens.flatMap(tokenFaults),
    ...ids.filter((id, index) => ids.indexOf(id) < index).map((id) => `token ${JSON.stringify(id)}: the id is taken`),
  ]
}

function tokenVerifier({ tokens }: AuthConfig, clock: Clock): AuthVerifier {
  const byId = new Map(tokens.map((token) => [token.id, token]))
  return async (request) => {
    const token = bearerForm.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
    const config = byId.get(tokenId(token) ?? '')
    const matches = equalInConstantTime(await hashToken(token), config?.hash ?? noHash)
    if (!config || !matches || config.disabled || isOver(config, clock)) return null
    const { id, tenant, scopes, expiresAt } = config
    return { id, tenant, scopes, ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }) }
  }
}

function isOver({ expiresAt }: TokenConfig, clock: Clock): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= clock.now()
}

function guardVerifier(verifier: AuthVerifier, clock: Clock): AuthVerifier {
  return async (request) => {
    const late = Promise.withResolvers<never>()
    const cancel = clock.setTimer(clock.now() + verifierTimeoutMs, () => late.reject(new Error('The verifier took too long.')))
    try {
      const principal = await Promise.race([verifier(request), late.promise])
      // A tenant outside its alphabet could name the sessions of another one.
      if (principal && !isTenant(principal.tenant)) throw new Error('The verifier gave a principal without a valid tenant.')
      return principal
    } catch (error) {
      throw unavailable(error)
    } finally {
      cancel()
    }
  }
}

function unauthenticated(): ProblemError {
  return new ProblemError('unauthenticated', 'Send valid credentials.', { headers: { 'www-authenticate': 'Bearer' } })
}

function unavailable(cause: unknown): ProblemError {
  return new ProblemError('auth-unavailable', 'The credentials could not be checked.', { cause })
}
