import { waitingKinds } from '../../contract/records.ts'
import type { InboxKind, InboxRecord } from '../../contract/records.ts'
import { parseStored } from '../../json.ts'
import { all, statement } from './statement.ts'
import type { Steps } from './statement.ts'
import type { InboxTable } from './tables.ts'

const ofKey = statement((db, slots: { readonly namespace: string; readonly key: string; readonly kinds: string }, { listed }) =>
  db
    .selectFrom('inbox')
    .innerJoin('session', 'session.row', 'inbox.session')
    .select(['inbox.id', 'inbox.kind', 'inbox.at', 'inbox.body'])
    .where('session.namespace', '=', slots.namespace)
    .where('session.key', '=', slots.key)
    .where('inbox.kind', 'in', listed<InboxKind>(slots.kinds))
    .orderBy('inbox.version')
    .orderBy('inbox.place'),
)

const ofSession = statement((db, slots: { readonly session: number; readonly kinds: string }, { listed }) =>
  db
    .selectFrom('inbox')
    .select(['id', 'kind', 'at', 'body'])
    .where('session', '=', slots.session)
    .where('kind', 'in', listed<InboxKind>(slots.kinds))
    .orderBy('version')
    .orderBy('place'),
)

export function* readInbox(namespace: string, key: string, kinds: readonly InboxKind[]): Steps<readonly InboxRecord[]> {
  return (yield* all(ofKey, { namespace, key, kinds: JSON.stringify(kinds) })).map(recordOf)
}

export function* readWaiting(session: number): Steps<readonly InboxRecord[]> {
  return (yield* all(ofSession, { session, kinds: JSON.stringify(waitingKinds) })).map(recordOf)
}

function recordOf({ id, kind, at, body }: Pick<InboxTable, 'id' | 'kind' | 'at' | 'body'>): InboxRecord {
  return { id, kind, at, body: parseStored<InboxRecord['body']>(body, `The inbox row ${id}`) } as InboxRecord
}
