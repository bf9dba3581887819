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

export type Scope = (typeof scopes)[number]

/** Who asks. Two tenants never see anything of each other, whatever their scopes. */
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
