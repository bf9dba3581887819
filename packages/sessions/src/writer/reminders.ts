import type { ErrorEvent } from '@bowline/agent-loop'
import type { SessionStore } from '../contract/session-store.ts'
import type { ChildSettled, InboxRecord, RunRecord } from '../contract/records.ts'
import { openStatuses } from '../contract/run-status.ts'

export type SettledRow = Extract<InboxRecord, { readonly kind: 'child-settled' }>

const mostNamed = 20

/**
 * Returns the rows of children to report now: failures and needs for help at once, successes once everything that the same run has
 * started in the background has settled.
 */
export async function announceable(store: SessionStore, key: string): Promise<readonly SettledRow[]> {
  const groups = new Set((await readSettled(store, key)).filter((row) => !needsWord(row.body)).map((row) => row.body.group))
  const settled = new Set<string>()
  for (const group of groups) if (await hasSettled(store, group)) settled.add(group)
  // Read again: a child that ended meanwhile belongs to its group.
  return (await readSettled(store, key)).filter(({ body }) => needsWord(body) || settled.has(body.group))
}

/**
 * Returns the rows that a notification run takes with it if it ends before its model saw any. Otherwise the session would create
 * the same run again and again.
 */
export async function untoldBy(
  store: SessionStore,
  { kind, session, step }: Pick<RunRecord, 'kind' | 'session' | 'step'>,
): Promise<readonly SettledRow[]> {
  return kind === 'notification' && step === 0 ? announceable(store, session) : []
}

/** Returns the log events for rows that no model will see. */
export function untoldEvents(rows: readonly SettledRow[], base: Pick<ErrorEvent, 'at' | 'runId' | 'turn'>): readonly ErrorEvent[] {
  if (rows.length === 0) return []
  const named = rows.slice(0, mostNamed).map(({ body }) => body.taskId)
  const others = rows.length > mostNamed ? ` and ${rows.length - mostNamed} more` : ''
  const message = `The run ended before the model was told that these background tasks have settled: ${named.join(', ')}${others}.`
  return [{ ...base, type: 'error', source: 'reminder', message, fatal: false }]
}

async function readSettled(store: SessionStore, key: string): Promise<readonly SettledRow[]> {
  const rows = await store.readInbox(key, ['child-settled'])
  return rows.filter((row) => row.kind === 'child-settled')
}

function needsWord({ status }: ChildSettled): boolean {
  return status !== 'completed'
}

async function hasSettled(store: SessionStore, group: string): Promise<boolean> {
  let page: string | undefined
  do {
    const children = await store.listChildren({ parent: { runId: group }, status: openStatuses, ...(page === undefined ? {} : { page }) })
    if (children.items.some((run) => run.parent?.taskId !== undefined && run.status !== 'needs-recovery')) return false
    page = children.next
  } while (page !== undefined)
  return true
}

/** Returns the reminder for the model, with just enough to ask for the rest. */
export function reminderOf(children: readonly ChildSettled[]): string {
  const lines = children.map(({ taskId, agent, status, description = '' }) => {
    return `<background-task id="${taskId}" agent="${agent}" status="${status}">${escaped(description)}</background-task>`
  })
  const ids = children.length === 1 ? 'this task_id' : 'one of these task_ids'
  return [...lines, `Call background_output with ${ids} to read a result.`].join('\n')
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character] ?? character)
}
