import { jwtFaults, type JwtConfig } from './jwt.ts'
import type { Principal } from './principal.ts'
import { tokenFaults, type TokenConfig } from './token.ts'

/** Who is known: by a token of this list, or by a JWT of an issuer. At least one of both. */
export interface AuthConfig {
  readonly tokens?: readonly TokenConfig[]
  readonly jwt?: JwtConfig
}

/**
 * Says who makes a request: null for nobody. It must not pass what it cannot check: one that throws, or takes longer
 * than 5 s, ends the request with 503.
 */
export type AuthVerifier = (request: Request) => Promise<Principal | null>

/** `none`: everybody may do everything, and only callers on this machine are answered. */
export type Auth = AuthConfig | AuthVerifier | 'none'

/** Everything that is wrong with it. */
export function authFaults(auth: Auth | undefined): readonly string[] {
  if (auth === undefined) return ["auth is required: tokens, jwt, a verifier, or 'none' for this machine only"]
  if (auth === 'none' || typeof auth === 'function') return []
  const { tokens = [], jwt } = auth
  const ids = tokens.map((token) => token.id)
  return [
    ...(auth.tokens || jwt ? [] : ['auth: tokens or jwt must be there']),
    ...tokens.flatMap((token, place) => tokenFaults(token, `auth.tokens[${place}]`)),
    ...ids.filter((id, index) => ids.indexOf(id) < index).map((id) => `token ${JSON.stringify(id)}: the id is taken`),
    ...(jwt ? jwtFaults(jwt) : []),
  ]
}
