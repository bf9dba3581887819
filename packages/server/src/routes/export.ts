import { z } from '@hono/zod-openapi'
import type { Services } from '../services.ts'
import { optional } from '../wire/optional.ts'
import { ownedSession } from './owned-session.ts'
import { defineRoute, type Route } from './route.ts'

const encoder = new TextEncoder()
/** Roughly the amount that a socket takes at once. */
const pieceCharacters = 64 * 1024

/** Accepts `?events` and `?events=true` as true. */
const flag = optional(z.enum(['', 'true', 'false']))
const exportQuery = z.strictObject({ events: flag, allBranches: flag })

export function exportRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/agent/session/{id}/export',
    summary: 'The active path, or the whole tree, as lines of JSON; the last one holds the checksum.',
    scope: 'sessions:read',
    query: exportQuery,
    answers: [{ status: 200, description: 'One JSON value per line.', mediaType: 'application/x-ndjson' }],
    problems: ['session-missing', 'session-expired', 'session-deleted', 'too-many-streams'],
    handle(call) {
      const { principal, params, query } = call
      return services.streams.withPlace(principal, params.id, async (place) => {
        const { session } = await ownedSession(services, principal, params.id)
        const lines = session.export({ events: isOn(query.events), allBranches: isOn(query.allBranches) })
        const held = place.hold(bodyOf(lines, (error) => services.streamError(error, call)))
        return { response: new Response(held.body, { headers: { 'content-type': 'application/x-ndjson' } }), held }
      })
    },
  })
}

function isOn(value: '' | 'true' | 'false' | undefined): boolean {
  return value === '' || value === 'true'
}

/** Creates a body that makes pieces on demand. If a piece fails, the body is cut off. */
function bodyOf(lines: AsyncIterable<string>, onError: (error: unknown) => void): ReadableStream<Uint8Array> {
  const pieces = inPieces(lines)
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const piece = await pieces.next()
          if (piece.done) controller.close()
          else controller.enqueue(encoder.encode(piece.value))
        } catch (error) {
          onError(error)
          controller.error(error)
        }
      },
      async cancel() {
        await pieces.return()
      },
    },
    { highWaterMark: 0 },
  )
}

/** Joins lines to pieces. Lines before a failure are delivered first. */
async function* inPieces(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let piece = ''
  try {
    for await (const line of lines) {
      piece += `${line}\n`
      if (piece.length < pieceCharacters) continue
      yield piece
      piece = ''
    }
  } catch (error) {
    if (piece !== '') yield piece
    throw error
  }
  if (piece !== '') yield piece
}
