import type { InboxKind, InboxRecord } from '../../contract/records.ts'
import { parseStored } from '../../json.ts'
import { all, statement } from './statement.ts'
import type { Steps } from './statement.ts'

const ofSession = statement((db, slots: { readonly namespace: string; readonly key: string; readonly kinds: string }, { listed }) =>
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

export function* readInbox(namespace: string, key: string, kinds: readonly InboxKind[]): Steps<readonly InboxRecord[]> {
  const rows = yield* all(ofSession, { namespace, key, kinds: JSON.stringify(kinds) })
  return rows.map(
    ({ id, kind, at, body }) => ({ id, kind, at, body: parseStored<InboxRecord['body']>(body, `The inbox row ${id}`) }) as InboxRecord,
  )
}
