import type { IdSource } from '@bowline/agent-loop'

const acceptable = /^[A-Za-z0-9._-]{1,64}$/
const known = new WeakMap<Request, string>()

/** The id that the caller gave, or one made for the request. */
export function requestIdOf(request: Request, ids: IdSource): string {
  const existing = known.get(request)
  if (existing !== undefined) return existing
  const given = request.headers.get('x-request-id')
  const id = given !== null && acceptable.test(given) ? given : ids.next('req')
  known.set(request, id)
  return id
}
