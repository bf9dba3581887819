import { waitingKinds } from '../../contract/records.ts'
import type { InboxKind, InboxRecord } from '../../contract/records.ts'
import { parseStored } from '../../json.ts'
import { all, ask, statement } from './statement.ts'
import type { Call, RowOf, Steps } from './statement.ts'
import type { InboxTable } from './tables.ts'

const ofKey = statement(
  (db, slots: { readonly namespace: string; readonly key: string; readonly kinds: readonly InboxKind[] }, { isOneOf }) =>
    db
      .selectFrom('inbox')
      .innerJoin('session', 'session.row', 'inbox.session')
      .select(['inbox.id', 'inbox.kind', 'inbox.at', 'inbox.body'])
      .where('session.namespace', '=', slots.namespace)
      .where('session.key', '=', slots.key)
      .where((where) => isOneOf(where.ref('inbox.kind'), slots.kinds, 'text'))
      .orderBy('inbox.version')
      .orderBy('inbox.place'),
)

const ofSessions = statement((db, slots: { readonly sessions: readonly number[]; readonly kinds: readonly InboxKind[] }, { isOneOf }) =>
  db
    .selectFrom('inbox')
    .select(['session', 'id', 'kind', 'at', 'body'])
    .where((where) => isOneOf(where.ref('session'), slots.sessions, 'number'))
    .where((where) => isOneOf(where.ref('kind'), slots.kinds, 'text'))
    .orderBy('version')
    .orderBy('place'),
)

export function* readInbox(namespace: string, key: string, kinds: readonly InboxKind[]): Steps<readonly InboxRecord[]> {
  return (yield* all(ofKey, { namespace, key, kinds })).map(inboxRecord)
}

/** Asks for the rows that wait for a run, with their sessions, in order of acceptance. */
export function askWaiting(sessions: readonly number[]): Call<WaitingRow> {
  return ask(ofSessions, { sessions, kinds: waitingKinds })
}

export type WaitingRow = RowOf<typeof ofSessions>

export function inboxRecord({ id, kind, at, body }: Pick<InboxTable, 'id' | 'kind' | 'at' | 'body'>): InboxRecord {
  return { id, kind, at, body: parseStored<InboxRecord['body']>(body, `The inbox row ${id}`) } as InboxRecord
}
