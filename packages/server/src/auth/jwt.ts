import type { JWTPayload } from 'jose'
import { createRemoteJWKSet } from 'jose/jwks/remote'
import { jwtVerify } from 'jose/jwt/verify'
import type { Clock } from '@bowline/llm'
import { isScope, isTenant, type Principal } from './principal.ts'

/** Issuer, audience and claims of accepted JWTs. `sub`, `exp` and the claims for tenant and scopes are required. */
export interface JwtConfig {
  /** Address of the issuer's public keys: https, or http on this machine. Give either this or `secret`. */
  readonly jwksUrl?: string
  /** Secret shared with the issuer, at least 32 bytes. Give either this or `jwksUrl`. */
  readonly secret?: string
  readonly issuer: string
  readonly audience: string
  /** Claim with the tenant. Default `tenant`. */
  readonly tenantClaim?: string
  /** Claim with the scopes: a list, or words separated by spaces. Unknown scopes are ignored. Default `scope`. */
  readonly scopeClaim?: string
  /** Accepted algorithms. Default: all that fit the type of key. */
  readonly algorithms?: readonly string[]
}

const publicKeyAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
const secretAlgorithms = ['HS256', 'HS384', 'HS512']
const skewSeconds = 30
const msPerSecond = 1000
const minSecretBytes = 32
const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/** Codes of errors in the token: the caller is then unknown. All other errors concern the keys: the check then failed. */
const tokenFailures: readonly unknown[] = [
  'ERR_JOSE_ALG_NOT_ALLOWED',
  'ERR_JOSE_NOT_SUPPORTED',
  'ERR_JWKS_MULTIPLE_MATCHING_KEYS',
  'ERR_JWKS_NO_MATCHING_KEY',
  'ERR_JWS_INVALID',
  'ERR_JWS_SIGNATURE_VERIFICATION_FAILED',
  'ERR_JWT_CLAIM_VALIDATION_FAILED',
  'ERR_JWT_EXPIRED',
  'ERR_JWT_INVALID',
]

export type JwtVerifier = (token: string) => Promise<Principal | null>

/**
 * Returns a verifier of JWTs. It takes keys only from the configured place, whatever the token says. It rejects if the keys cannot
 * be loaded.
 */
export function jwtVerifier(config: JwtConfig, clock: Clock): JwtVerifier {
  const { issuer, audience, tenantClaim = 'tenant', scopeClaim = 'scope' } = config
  const algorithms = [...(config.algorithms ?? algorithmsOf(config))]
  // Keys are cached for ten minutes. If a key is not among them, it is looked up at most once in thirty seconds.
  const keys = config.jwksUrl === undefined ? undefined : createRemoteJWKSet(new URL(config.jwksUrl))
  const secret = new TextEncoder().encode(config.secret)
  return async (token) => {
    const rules = { issuer, audience, algorithms, clockTolerance: skewSeconds }
    const options = { ...rules, currentDate: new Date(clock.now()) }
    try {
      const { payload } = keys ? await jwtVerify(token, keys, options) : await jwtVerify(token, secret, options)
      return principalOf(payload, payload[tenantClaim], payload[scopeClaim])
    } catch (error) {
      if (tokenFailures.includes((error as { readonly code?: unknown }).code)) return null
      throw error
    }
  }
}

/** Returns all faults of the JWT configuration. */
export function jwtFaults(config: JwtConfig): readonly string[] {
  const { jwksUrl, secret, algorithms = [] } = config
  const allowed = algorithmsOf(config)
  return [
    ...((jwksUrl === undefined) === (secret === undefined) ? ['auth.jwt must have either jwksUrl or secret'] : []),
    ...(jwksUrl !== undefined && !isSafeUrl(jwksUrl) ? ['auth.jwt.jwksUrl must be an https address, or http on this machine'] : []),
    ...(secret !== undefined && new TextEncoder().encode(secret).length < minSecretBytes
      ? [`auth.jwt.secret must have at least ${minSecretBytes} bytes`]
      : []),
    ...(['issuer', 'audience'] as const).filter((name) => !config[name]).map((name) => `auth.jwt.${name} is required`),
    ...(config.algorithms?.length === 0 ? ['auth.jwt.algorithms must not be empty'] : []),
    ...algorithms
      .map((name, place) =>
        allowed.includes(name) ? '' : `auth.jwt.algorithms[${place}] ${JSON.stringify(name)} must be one of ${allowed.join(', ')}`,
      )
      .filter((fault) => fault !== ''),
  ]
}

/** Returns the algorithms that fit the key, so that a shared secret is never used as a public key, nor the reverse. */
function algorithmsOf({ secret }: JwtConfig): readonly string[] {
  return secret === undefined ? publicKeyAlgorithms : secretAlgorithms
}

function isSafeUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && loopbackNames.includes(hostname))
}

function principalOf({ sub, exp }: JWTPayload, tenant: unknown, scope: unknown): Principal | null {
  if (typeof sub !== 'string' || sub === '' || !isTenant(tenant) || exp === undefined) return null
  const words: readonly unknown[] = Array.isArray(scope) ? scope : typeof scope === 'string' ? scope.split(' ') : []
  const scopes = words.filter((word) => typeof word === 'string').filter(isScope)
  return { id: sub, tenant, scopes, expiresAt: (exp + skewSeconds) * msPerSecond }
}
