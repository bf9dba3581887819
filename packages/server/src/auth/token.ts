import { definedFields, needed } from '@bowline/llm/arguments'
import { base64url } from '../base64url.ts'
import { sha256 } from '../hash.ts'
import { ServerError } from '../server-error.ts'
import { configChecks } from '../arguments.ts'
import { newTokenChecks } from './check-auth.ts'
import { isTenant, type Scope } from './principal.ts'

/** One token in the configuration. It holds the hash, never the token. */
export interface TokenConfig {
  readonly id: string
  /** `sha256:` and 64 hex digits. */
  readonly hash: `sha256:${string}`
  readonly tenant: string
  readonly scopes: readonly Scope[]
  /** Expiry time as an ISO 8601 date. */
  readonly expiresAt?: string
  readonly disabled?: boolean
}

/** New token and its configuration line. */
export interface CreatedToken {
  /** `bwl_<id>_<43 characters>`. It is shown once and never stored. */
  readonly token: string
  /** Configuration line that accepts the token. */
  readonly config: TokenConfig
}

const idForm = /^[A-Za-z0-9-]{1,64}$/
const tokenForm = /^bwl_([A-Za-z0-9-]{1,64})_[A-Za-z0-9_-]{43}$/
const hashForm = /^sha256:[0-9a-f]{64}$/
const secretBytes = 32

/** Creates a token with 256 random bits, and the configuration line that accepts it. */
export async function createToken(options: Omit<TokenConfig, 'hash' | 'disabled'>): Promise<CreatedToken> {
  configChecks.checkFields('options', needed(options), newTokenChecks)
  const token = `bwl_${options.id}_${base64url(crypto.getRandomValues(new Uint8Array(secretBytes)))}`
  const config: TokenConfig = { ...definedFields(options), hash: `sha256:${hex(await sha256(token))}` }
  const faults = tokenFaults(config, 'options')
  if (faults.length > 0) throw new ServerError('invalid-config', faults.join('; '))
  return { token, config }
}

/** Returns the id inside a token, or null if the text is not a token. */
export function tokenId(token: string): string | null {
  return tokenForm.exec(token)?.[1] ?? null
}

export async function hashToken(token: string): Promise<string> {
  return `sha256:${hex(await sha256(token))}`
}

/** Constant-time comparison. */
export function equalInConstantTime(left: string, right: string): boolean {
  if (left.length !== right.length) return false
  let difference = 0
  for (let index = 0; index < left.length; index++) difference |= left.charCodeAt(index) ^ right.charCodeAt(index)
  return difference === 0
}

/** Returns all faults of one token of the configuration. */
export function tokenFaults(token: TokenConfig, path: string): readonly string[] {
  const name = `token ${JSON.stringify(token.id)}`
  return [
    ...(idForm.test(token.id) ? [] : [`${name}: the id must match ${idForm.source} (${path}.id)`]),
    ...(hashForm.test(token.hash) ? [] : [`${name}: the hash must match ${hashForm.source} (${path}.hash)`]),
    ...(isTenant(token.tenant) ? [] : [`${name}: ${JSON.stringify(token.tenant)} is not a valid tenant name (${path}.tenant)`]),
    ...(token.expiresAt === undefined || Number.isFinite(Date.parse(token.expiresAt))
      ? []
      : [`${name}: expiresAt must be an ISO 8601 time (${path}.expiresAt)`]),
  ]
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
