import type { IdSource } from '@bowline/agent-loop'

const acceptable = /^[A-Za-z0-9._-]{1,64}$/

/** Returns the id that the caller sent, or a new one. */
export function requestIdOf(request: Request, ids: IdSource): string {
  const given = request.headers.get('x-request-id')
  return given !== null && acceptable.test(given) ? given : ids.next('req')
}
