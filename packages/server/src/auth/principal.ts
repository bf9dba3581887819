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

/** Right of a caller within its tenant. `admin` includes all others. */
export type Scope = (typeof scopes)[number]

/** Authenticated caller. Tenants never see each other's data, whatever their scopes. */
export interface Principal {
  readonly id: string
  /** Tenant of the form `[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}`. */
  readonly tenant: string
  readonly scopes: readonly Scope[]
  /** Expiry time in epoch milliseconds. */
  readonly expiresAt?: number
}

const tenantForm = /^[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}$/

export function isTenant(tenant: unknown): tenant is string {
  return typeof tenant === 'string' && tenantForm.test(tenant)
}

export function isScope(scope: string): scope is Scope {
  return (scopes as readonly string[]).includes(scope)
}

/** Returns true if the principal has the scope. `admin` includes every scope within the tenant. */
export function allows(principal: Principal, scope: Scope): boolean {
  return principal.scopes.includes(scope) || principal.scopes.includes('admin')
}
