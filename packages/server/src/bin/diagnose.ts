import { statuses } from '@bowline/agent-loop'
import type { Page, PageRequest, RunRecord, SessionRecord, SessionStore } from '@bowline/sessions'

export interface Problem {
  readonly what: string
  /** States the problem, its place, and how to solve it. */
  readonly message: string
}

export interface Diagnosis {
  /** Numbers of stored items, as rows of a name and a number. */
  readonly counts: readonly (readonly [name: string, count: string])[]
  readonly problems: readonly Problem[]
}

/** Time after which work is late: a running process would have done it at once. */
const lateMs = 60_000
const waitsLongMs = 600_000
const mostCounted = 10_000
const pageSize = 1000
const mostNamed = 5

/** Examines an open store. Reads only. */
export async function diagnose(store: SessionStore, now: number): Promise<Diagnosis> {
  const [open, due, expired, recovery, notices, counts] = await Promise.all([
    upTo((page) => store.listSessions({ status: ['running', 'queued', 'waiting-for-retry'], expired: false, ...page })),
    store.due(pageSize),
    upTo((page) => store.listSessions({ expired: true, ...page })),
    upTo((page) => store.listSessions({ status: ['needs-recovery'], ...page })),
    upTo((page) => store.listNotices({ state: 'failed', ...page })),
    countsOf(store),
  ])
  const runs = await firstRuns(store, open)
  const lost = runs.filter(({ status, leaseUntil = now }) => status === 'running' && leaseUntil < now - lateMs)
  const waiting = runs.filter(
    ({ status, createdAt, notBefore = 0 }) => status === 'queued' && createdAt < now - waitsLongMs && notBefore < now - lateMs,
  )
  const overdue = due.timers.filter(({ dueAt }) => dueAt !== null && dueAt < now - lateMs)
  const unmarked = due.expired.filter((key) => expired.some((session) => session.key === key && (session.expiredAt ?? now) < now - lateMs))
  const found: readonly (Problem | undefined)[] = [
    problem(
      'lost-runs',
      lost.map(nameOfRun),
      'held by a process that is gone or cannot reach the store. Start a server with the agents: it takes over.',
    ),
    problem(
      'waiting-runs',
      waiting.map(nameOfRun),
      'waiting for more than ten minutes. Start a server with the agents, or find out what keeps it busy.',
    ),
    problem(
      'overdue-timers',
      overdue.map(({ session, kind }) => `${kind} of ${session}`),
      'overdue. Start a server: it fires what is due.',
    ),
    problem('overdue-ends', unmarked, 'expired, but not yet marked. Start a server: it marks expired sessions.'),
    problem('unread-inboxes', due.unread, 'inputs that no run takes. Start a server: it creates runs for inputs.'),
    problem(
      'needs-recovery',
      recovery.map(({ key }) => key),
      'waiting for a decision about a call or a changed agent. Look with bowline-server log, and decide with resolveTool or recover.',
    ),
    problem(
      'failed-webhooks',
      notices.map(({ id, error }) => `${id} (${error ?? 'no reason'})`),
      'failed for good. Fix the receiver, and resend with resendNotice or the resend route.',
    ),
  ]
  return { counts, problems: found.filter((each) => each !== undefined) }
}

function problem(what: string, places: readonly string[], message: string): Problem | undefined {
  if (places.length === 0) return undefined
  const more = places.length > mostNamed ? ` and ${places.length - mostNamed} more` : ''
  return { what, message: `${places.slice(0, mostNamed).join(', ')}${more}: ${message}` }
}

/** Returns for each session the run that is running, or else the next one. */
async function firstRuns(store: SessionStore, sessions: readonly SessionRecord[]): Promise<readonly RunRecord[]> {
  const runs: RunRecord[] = []
  for (const { key } of sessions) {
    const { items } = await store.listRuns(key, { status: ['running', 'queued'], limit: pageSize })
    const first = items.find(({ status }) => status === 'running') ?? items.toSorted((a, b) => a.place - b.place)[0]
    if (first) runs.push(first)
  }
  return runs
}

function nameOfRun({ id, session, owner, createdAt }: RunRecord): string {
  return `${id} of ${session} (${owner === undefined ? '' : `process ${owner}, `}accepted ${new Date(createdAt).toISOString()})`
}

async function countsOf(store: SessionStore): Promise<Diagnosis['counts']> {
  const sessions = await upTo((page) => store.listSessions(page))
  const ofStatus = statuses.map((status) => [status, sessions.filter((session) => session.status === status).length] as const)
  return [
    ['sessions', `${sessions.length}${sessions.length >= mostCounted ? ' or more' : ''}`],
    ['events', String(sessions.reduce((sum, { firstSeq, nextSeq }) => sum + nextSeq - firstSeq, 0))],
    ...ofStatus.filter(([, count]) => count > 0).map(([status, count]) => [status, String(count)] as const),
  ]
}

/** Returns the first 10,000 items. More would not help: the operator looks at the first ones. */
async function upTo<T>(read: (request: PageRequest) => Promise<Page<T>>): Promise<readonly T[]> {
  const items: T[] = []
  let page: string | undefined
  do {
    const found: Page<T> = await read({ limit: pageSize, ...(page === undefined ? {} : { page }) })
    items.push(...found.items)
    page = found.next
  } while (page !== undefined && items.length < mostCounted)
  return items
}
