export const demoTenant = 'demo'

const idForm = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/

export function isSessionId(value: unknown): value is string {
  return typeof value === 'string' && idForm.test(value)
}

/** Returns the store key of the session with this API id. */
export function sessionKeyOf(sessionId: string): string {
  return `tenant:${demoTenant}:s:${sessionId}`
}
