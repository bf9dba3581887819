import type { RunRecord, SessionStore } from '@bowline/sessions'
import { originOfInput } from './chat-input-id.ts'

const pageSize = 100

/** Bounds of the runs of a page. */
export interface RunBounds {
  /** Entry before which the page ends. */
  readonly before?: string | undefined
  /** Run of the oldest turn of the page, if there are older turns. */
  readonly oldest?: string | undefined
  /** Number of the last event that was read. */
  readonly lastSeq: number
}

/** Returns the runs of a page of the path in order of acceptance. Runs that left no message on the path are included. */
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

/** Returns the id that the page gave to the message that started the run. Returns undefined if it did not come from a page. */
export async function pageMessageId(store: SessionStore, { inputId }: RunRecord): Promise<string | undefined> {
  let origin = originOfInput(inputId)
  while (origin.previous !== undefined) {
    const previous = await recordOf(store, origin.previous)
    // A run that replaces a message that no page has sent has the id of that message.
    if (!previous) return origin.previous
    origin = originOfInput(previous.inputId)
  }
  return origin.messageId
}

async function recordOf(store: SessionStore, runId: string): Promise<RunRecord | undefined> {
  const read = await store.readRun(runId)
  return 'value' in read ? read.value : undefined
}
