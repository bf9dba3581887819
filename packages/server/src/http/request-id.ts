import type { IdSource } from '@bowline/agent-loop'

const acceptable = /^[A-Za-z0-9._-]{1,64}$/

/** The id that the caller gave, or one made for the request. */
export function requestIdOf(request: Request, ids: IdSource): string {
  const given = request.headers.get('x-request-id')
  return given !== null && acceptable.test(given) ? given : ids.next('req')
}
