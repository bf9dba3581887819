export const scopes = [
  'agents:read',
  'sessions:read',
  'sessions:write',
  'sessions:delete',
  'approvals',
  'mcp',
  'metrics',
  'spending',
  'requests:read',
  'admin',
] as const

/** Right of a caller within its tenant. `admin` contains all others. */
export type Scope = (typeof scopes)[number]

/** Authenticated caller. Two tenants never see each other's data, with any scopes. */
export interface Principal {
  readonly id: string
  /** `[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}`. */
  readonly tenant: string
  readonly scopes: readonly Scope[]
  /** Epoch milliseconds. */
  readonly expiresAt?: number
}

const tenantForm = /^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$/

export function isTenant(tenant: unknown): tenant is string {
  return typeof tenant === 'string' && tenantForm.test(tenant)
}

export function isScope(scope: string): scope is Scope {
  return (scopes as readonly string[]).includes(scope)
}

/** `admin` contains every scope, within the tenant. */
export function allows(principal: Principal, scope: Scope): boolean {
  return principal.scopes.includes(scope) || principal.scopes.includes('admin')
}
