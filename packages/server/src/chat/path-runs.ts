import type { RunRecord, SessionStore } from '@bowline/sessions'
import { originOfInput } from './chat-input-id.ts'

const pageSize = 100

/** What bounds the runs of a page. */
export interface RunBounds {
  /** The page is older than this entry. */
  readonly before?: string | undefined
  /** The run of its oldest turn, if there are older turns. */
  readonly oldest?: string | undefined
  /** Number of the last event that is known. */
  readonly lastSeq: number
}

/** The runs of a page of the path, in order of acceptance, with those that have left nothing on it. */
export async function readRuns(store: SessionStore, key: string, { before, oldest, lastSeq }: RunBounds): Promise<readonly RunRecord[]> {
  let upTo = Infinity
  if (before !== undefined) {
    const [entry] = (await store.readPath(key, { leaf: before, limit: 1 })).items
    if (entry?.runId === undefined) return []
    upTo = (await recordOf(store, entry.runId))?.n ?? 0
  }
  const runs: RunRecord[] = []
  let page: string | undefined
  do {
    const { items, next } = await store.listRuns(key, { newestFirst: true, limit: pageSize, ...(page !== undefined && { page }) })
    for (const run of items) {
      if (run.n < upTo && run.firstSeq <= lastSeq && run.kind !== 'compaction') runs.unshift(run)
      if (run.id === oldest) return runs
    }
    page = next
  } while (page !== undefined)
  return runs
}

/** The id that a page has given to the message that began the run. Undefined: it came from elsewhere. */
export async function pageMessageId(store: SessionStore, { inputId }: RunRecord): Promise<string | undefined> {
  let origin = originOfInput(inputId)
  while (origin.previous !== undefined) {
    const previous = await recordOf(store, origin.previous)
    // What took the place of a message that no page has sent has the name of that message.
    if (!previous) return origin.previous
    origin = originOfInput(previous.inputId)
  }
  return origin.messageId
}

async function recordOf(store: SessionStore, runId: string): Promise<RunRecord | undefined> {
  const read = await store.readRun(runId)
  return 'value' in read ? read.value : undefined
}
