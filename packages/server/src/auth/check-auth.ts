import type { ArgumentCheck, FieldChecks } from '@bowline/llm/arguments'
import { configChecks, names, oneOf, optionalName, required } from '../arguments.ts'
import type { AuthConfig } from './auth.ts'
import type { JwtConfig } from './jwt.ts'
import { scopes } from './principal.ts'
import type { TokenConfig } from './token.ts'

const { checkBoolean, checkFields, checkItems, checkName, checkRequired, checkText, record } = configChecks

/** Fields of a token except its hash, as `createToken` takes them. */
export const newTokenChecks: FieldChecks<Omit<TokenConfig, 'hash' | 'disabled'>> = {
  id: checkName,
  tenant: checkName,
  scopes: required((path, value) => checkItems(path, value, required(oneOf(...scopes)))),
  expiresAt: checkText,
}

const token: FieldChecks<TokenConfig> = { ...newTokenChecks, hash: checkName, disabled: checkBoolean }

const jwt: FieldChecks<JwtConfig> = {
  jwksUrl: checkText,
  secret: checkText,
  issuer: checkText,
  audience: checkText,
  tenantClaim: optionalName,
  scopeClaim: optionalName,
  algorithms: names,
}

const config: FieldChecks<AuthConfig> = {
  tokens: (path, value) => checkItems(path, value, record(token)),
  jwt: (path, value) => checkFields(path, value, jwt),
}

/** Refuses unknown fields and values of the wrong type. `authFaults` checks the values. */
export const checkAuth: ArgumentCheck = (path, value) => {
  if (value === undefined || value === 'none' || typeof value === 'function') return
  checkRequired(path, value, "tokens, jwt, a verifier, or 'none' for this machine only", (given) => typeof given === 'object')
  checkFields(path, value, config)
}
