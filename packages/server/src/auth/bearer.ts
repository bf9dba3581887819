import type { Clock } from '@bowline/llm'
import type { AuthConfig, AuthVerifier } from './auth.ts'
import { jwtVerifier } from './jwt.ts'
import type { Principal } from './principal.ts'
import { equalInConstantTime, hashToken, tokenId, type TokenConfig } from './token.ts'

const bearerForm = /^Bearer +(\S+)$/i
const jwtForm = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** Hash that is compared if no token has the id, so that an unknown id takes the same path as a wrong secret. */
const noHash = `sha256:${'0'.repeat(64)}`

/** Creates a verifier of bearer tokens from the configuration. */
export function bearerVerifier({ tokens = [], jwt }: AuthConfig, clock: Clock): AuthVerifier {
  const verifyJwt = jwt && jwtVerifier(jwt, clock)
  const byId = new Map(tokens.map((token) => [token.id, token]))
  return async (request) => {
    const token = bearerForm.exec(request.headers.get('authorization') ?? '')?.[1] ?? ''
    return verifyJwt && jwtForm.test(token) ? verifyJwt(token) : verifyToken(token, byId, clock)
  }
}

async function verifyToken(token: string, byId: ReadonlyMap<string, TokenConfig>, clock: Clock): Promise<Principal | null> {
  const config = byId.get(tokenId(token) ?? '')
  const matches = equalInConstantTime(await hashToken(token), config?.hash ?? noHash)
  if (!config || !matches || config.disabled || isOver(config, clock)) return null
  const { id, tenant, scopes, expiresAt } = config
  return { id, tenant, scopes, ...(expiresAt !== undefined && { expiresAt: Date.parse(expiresAt) }) }
}

function isOver({ expiresAt }: TokenConfig, clock: Clock): boolean {
  return expiresAt !== undefined && Date.parse(expiresAt) <= clock.now()
}
