import type { SessionStore } from '../../contract/session-store.ts'
import type { EntryRecord, SessionRecord, StoredEvent } from '../../contract/records.ts'
import { pathForward } from '../tree/path-forward.ts'
import type { ExportOptions } from '../tree/types.ts'
import { entrySchema, exportFormat, LineSum, type ExportEntry, type ExportEvent, type ExportFooter, type ExportHeader } from './format.ts'

const pageSize = 500

/** Yields the lines of the session as of the first read. Keeps one page in memory. */
export async function* exportSession(
  store: SessionStore,
  required: () => Promise<SessionRecord>,
  { events = false, allBranches = false }: ExportOptions,
): AsyncGenerator<string, void, undefined> {
  const session = await required()
  const sum = new LineSum()
  const counts = { entries: 0, events: 0 }
  const print = (line: ExportHeader | ExportEntry | ExportEvent): string => {
    if (line.type === 'entry') counts.entries++
    if (line.type === 'event') counts.events++
    const text = JSON.stringify(line)
    sum.add(text)
    return text
  }
  yield print(headerOf(session))
  const entries = allBranches ? wholeTree(store, session.key) : pathForward(store, session.key, session.leaf)
  for await (const { n: _n, ...entry } of entries) yield print({ type: 'entry', entry: entry })
  if (events) for await (const event of eventsUpTo(store, session)) yield print({ type: 'event', event })
  yield JSON.stringify({ type: 'footer', ...counts, sha256: sum.digest() } satisfies ExportFooter)
}

function headerOf({ key, agent, leaf, metadata, settings }: SessionRecord): ExportHeader {
  const { notify: _secret, ...shown } = settings
  return { type: 'header', format: exportFormat, schemaVersion: entrySchema, key, agent, leaf, metadata, settings: shown }
}

/** Yields the branches one after the other, each from where it leaves the earlier ones. Keeps only the ids of yielded entries. */
async function* wholeTree(store: SessionStore, key: string): AsyncGenerator<EntryRecord, void, undefined> {
  const passed = new Set<string>()
  let page: string | undefined
  do {
    const branches = await store.listBranches(key, { limit: 1000, ...(page === undefined ? {} : { page }) })
    for (const { leaf } of branches.items) {
      for await (const entry of pathForward(store, key, leaf, (id) => passed.has(id))) {
        passed.add(entry.id)
        yield entry
      }
    }
    page = branches.next
  } while (page !== undefined)
}

async function* eventsUpTo(store: SessionStore, { key, firstSeq, nextSeq }: SessionRecord): AsyncGenerator<StoredEvent, void, undefined> {
  for (let after = firstSeq - 1; after < nextSeq - 1;) {
    const { events } = await store.readEvents(key, after, pageSize)
    for (const event of events) if (event.seq < nextSeq) yield event
    const last = events.at(-1)
    if (!last) return
    after = last.seq
  }
}
