import { jwtFaults, type JwtConfig } from './jwt.ts'
import type { Principal } from './principal.ts'
import { tokenFaults, type TokenConfig } from './token.ts'

/** Accepted callers: tokens of a list, JWTs of an issuer, or both. At least one is required. */
export interface AuthConfig {
  /** At least one at the start of a server, unless `jwt` is given. A reload may remove the last one, to refuse every caller. */
  readonly tokens?: readonly TokenConfig[]
  readonly jwt?: JwtConfig
}

/**
 * Function that returns the caller of a request, or null for an unknown one. It must verify the credentials. If it throws, or takes
 * longer than 5 s, the server answers with 503.
 */
export type AuthVerifier = (request: Request) => Promise<Principal | null>

/** Authentication of a server. `none`: every caller may do everything, and the server answers only callers on this machine. */
export type Auth = AuthConfig | AuthVerifier | 'none'

/** Returns all faults of an authentication at the start of a server. A reload may remove the last token, to refuse every caller. */
export function startAuthFaults(auth: Auth | undefined): readonly string[] {
  const isEmpty = typeof auth === 'object' && auth.tokens?.length === 0 && !auth.jwt
  const empty =
    'auth.tokens is empty, so every request would be refused: add a line of `bowline-server token create` or createToken, or set auth.jwt'
  return isEmpty ? [empty] : authFaults(auth)
}

/** Returns all faults of an authentication. */
export function authFaults(auth: Auth | undefined): readonly string[] {
  if (auth === undefined) return ["auth is required: tokens, jwt, a verifier, or 'none' for this machine only"]
  if (auth === 'none' || typeof auth === 'function') return []
  const { tokens = [], jwt } = auth
  const ids = tokens.map((token) => token.id)
  return [
    ...(auth.tokens || jwt ? [] : ['auth must have tokens or jwt']),
    ...tokens.flatMap((token, place) => tokenFaults(token, `auth.tokens[${place}]`)),
    ...ids.filter((id, index) => ids.indexOf(id) < index).map((id) => `token ${JSON.stringify(id)}: the id is used twice`),
    ...(jwt ? jwtFaults(jwt) : []),
  ]
}
