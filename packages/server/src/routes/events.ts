import { isEnded } from '@bowline/agent-loop/events'
import { z } from '@hono/zod-openapi'
import type { LoggedEvent, SessionInfo, SessionReader } from '@bowline/sessions'
import { firstEvent, logStart, numberOf } from '../session-log.ts'
import type { Services } from '../services.ts'
import { shortForm } from '../sse/frame-form.ts'
import type { StreamPlace } from '../sse/open-streams.ts'
import { readableSession } from './owned-session.ts'
import { optional } from '../wire/optional.ts'
import { defineRoute, type Answer, type Call, type Route } from './route.ts'

const query = z.strictObject({
  cursor: optional(z.string().max(64)),
  from: optional(z.enum(['run', 'start', 'now'])),
  until: optional(z.literal('settled')),
  deltas: optional(z.literal('short')),
  ticket: optional(z.string().max(128)),
})

export function eventsRoute(services: Services): Route {
  return defineRoute({
    method: 'get',
    path: '/api/agent/session/{id}/events',
    summary: 'Read the log of a session from any position on, then live.',
    scope: 'sessions:read',
    takesTicket: true,
    query,
    headers: [{ name: 'Last-Event-ID', description: 'The cursor of the last event that was read; it wins over ?cursor=.' }],
    answers: [
      { status: 200, description: 'Events, until the reader leaves or a stream-end says why it ends.', mediaType: 'text/event-stream' },
      { status: 204, description: 'With until=settled: no run is open and nothing is left to read.' },
    ],
    problems: [
      'invalid-cursor',
      'session-missing',
      'session-expired',
      'session-deleted',
      'cursor-ahead',
      'cursor-expired',
      'too-many-streams',
    ],
    handle: (call) => services.streams.withPlace(call.principal, call.params.id, (place) => readLog(services, call, place)),
  })
}

async function readLog(services: Services, call: Call<z.output<typeof query>, unknown>, place: StreamPlace): Promise<Answer<never>> {
  const { request, principal, params } = call
  const { from, until, cursor: asked, deltas } = call.query
  const { session, info } = await readableSession(services, principal, params.id)
  const given = request.headers.get('last-event-id') ?? asked
  const isOver = until === 'settled' && (await hasSettled(session, info))
  if (isOver && given === undefined) return { status: 204 }
  const cursor = given ?? (await startingPoint(session, info, from ?? 'run'))
  // The first read shows whether the log still holds that position. The client must learn that before the headers are sent.
  const next = await firstEvent(session.events({ live: false, cursor }))
  // A run that began after the session was read is not among those to wait for.
  if (isOver && (!next || isAfter(next, info))) return { status: 204 }
  const { streamBufferBytes: bufferBytes } = services.limits
  const stream = place.open({
    open: (abortSignal) => session.events({ live: !isOver, abortSignal, cursor, bufferBytes }),
    cursor,
    ...(deltas && { form: shortForm }),
    ...(until && { isLast: (event) => (isOver ? isPresent(event, info) : event.type === 'settled' && isAfter(event, info)) }),
    complete: () => Promise.resolve({ type: 'stream-end', reason: 'settled', resume: false }),
    toFrame: (error) => services.streamError(error, call),
  })
  return { status: 200, stream }
}

/** Returns true if no `settled` will follow: it is in the log, although hooks after the last turn may still run. */
async function hasSettled(session: SessionReader, { openRun, queued }: SessionInfo): Promise<boolean> {
  if (!openRun) return true
  if (queued > 0 || !isEnded(openRun.status)) return false
  let settled = false
  for await (const { type } of session.events({ live: false, cursor: openRun.cursor }))
    settled = type === 'settled' || (settled && type !== 'run-queued')
  return settled
}

/** Returns the cursor before the first event of the stream. */
async function startingPoint(session: SessionReader, info: SessionInfo, from: 'run' | 'start' | 'now'): Promise<string> {
  if (from === 'now') return info.cursor
  if (from === 'start') return logStart
  const run = info.openRun ?? (await session.runs({ newestFirst: true, limit: 1 })).items[0]
  return run?.cursor ?? logStart
}

/** Returns true if the event came after the session was read. An earlier `settled` does not end the stream. */
function isAfter(event: LoggedEvent, info: SessionInfo): boolean {
  return 'seq' in event && event.seq !== undefined && event.seq > numberOf(info.cursor)
}

/** Returns true if the event was the newest one when the session was read. */
function isPresent(event: LoggedEvent, info: SessionInfo): boolean {
  return 'seq' in event && event.seq === numberOf(info.cursor)
}
