import { manualClock } from '@bowline/llm/testing'
import type { Batch, ClaimRequest, CommitResult, NewEntry, NewEvent, NewRun, RunPatch, ToolCallRecord, Write } from '@bowline/sessions'
import { coreStore } from '../../src/core/core-store.ts'
import type { Change, Read, Write as RowWrite } from '../../src/rows/contract.ts'
import { memoryRows } from '../../src/rows/memory-rows.ts'
import { tables } from '../../src/rows/tables.ts'
import { memoryStateStore } from '../../src/state/memory-state-store.ts'

export const at = 1_750_000_000_000
export const leaseMs = 10_000

/** Opens a core over rows in memory, and lists what it reads and writes. */
export async function openCore() {
  const clock = manualClock(at)
  const rows = memoryRows()
  const { read, write } = rows
  const asked: string[] = []
  const recorded: Pick<typeof rows, 'read' | 'write'> = {
    read(reads) {
      asked.push(`read ${reads.flatMap(textOfRead).join(', ')}`)
      return read(reads)
    },
    write(changes) {
      asked.push(...changes.map(textOfChange))
      return write(changes)
    },
  }
  const store = coreStore(Object.assign(rows, recorded), { loss: 'lease', state: memoryStateStore({ clock }) })
  await store.open({ namespace: 'default', owner: 'owner-a', clock })
  let batches = 0
  const attempt = (key: string, writes: readonly Write[], more: Partial<Batch> = {}): Promise<CommitResult> =>
    store.commit({ id: `batch ${batches++}`, key, expect: [], writes, ...more })
  return {
    store,
    clock,
    attempt,
    /** Commits. Throws if it is refused. */
    async commit(key: string, writes: readonly Write[], more?: Partial<Batch>) {
      const result = await attempt(key, writes, more)
      if (!result.ok) throw new Error(`Refused: ${result.reason}`)
    },
    claim: (more: Partial<ClaimRequest> = {}) =>
      store.claim({ owner: 'owner-a', max: 10, leaseMs, agents: ['assistant'], holds: [], ...more }),
    /** Returns what this work reads and writes. */
    async askedBy(work: () => Promise<unknown>): Promise<readonly string[]> {
      asked.length = 0
      await work()
      return [...asked]
    },
  }
}

function textOf(fields: object): string {
  const text = JSON.stringify(fields, (_name, value: unknown) => (value === Infinity ? 'all' : value)).replaceAll('"', '')
  return text === '{}' ? '' : ` ${text}`
}

function textOfRead(read: Read): readonly string[] {
  if ('get' in read) return read.ids.length > 0 ? [`${read.get}${textOf(read.ids)}`] : []
  if ('walk' in read) return [`walk${textOf(read)}`]
  const { scan, index, equal, ...more } = read
  return [`${scan}.${index}${textOf(equal)}${textOf(more)}`]
}

function textOfChange({ writes, hints = [], ...flags }: Change): string {
  const told = hints.map(({ key, wake }) => ` ${wake ? 'wakes' : 'tells'} ${key}`).join('')
  return `write${textOf(flags)} ${writes.map(textOfWrite).join(', ')}${told}`
}

/** Names the values that are set, without them. */
function textOfWrite(write: RowWrite): string {
  if ('dropAll' in write) return `drop ${textOfRead(write.dropAll).join('')}`
  if ('drop' in write) return `drop ${write.drop}${textOf(write.id)}${write.if ? ` if${textOf(write.if)}` : ''}`
  if ('update' in write)
    return `update ${write.update}${textOf(write.id)} set ${Object.keys(write.set).join(' ')}${write.if ? ` if${textOf(write.if)}` : ''}`
  const [name, table] = 'insert' in write ? ['insert', write.insert] : ['put', write.put]
  return `${name} ${table}${textOf(tables[table as keyof typeof tables].id.map((column) => write.row[column]))}`
}

export function ensure(id: string, more: object = {}): Write {
  return { op: 'session.ensure', session: { id, agent: 'assistant', metadata: {}, at, ...more } }
}

export function insert(id: string, more: Partial<NewRun> = {}): Write {
  return { op: 'run.insert', run: { id, kind: 'user', inputHash: 'hash', input: `input of ${id}`, at, ...more } }
}

export function patch(runId: string, changes: RunPatch): Write {
  return { op: 'run.patch', runId, patch: changes }
}

export function entries(...list: readonly [id: string, parentId: string | null][]): Write {
  const entry = (id: string, parentId: string | null): NewEntry => {
    return { id, parentId, type: 'message', at, message: { role: 'user', id, content: `text of ${id}` } }
  }
  return { op: 'entry.append', entries: list.map(([id, parentId]) => entry(id, parentId)) }
}

export function events(...list: readonly NonNullable<NewEvent['refers']>[]): Write {
  return { op: 'event.append', events: list.map((refers) => ({ event: { type: 'user-message', at }, refers })) }
}

export function call(runId: string, toolCallId: string, more: Partial<ToolCallRecord> = {}): ToolCallRecord {
  const key = { runId, step: 1, toolCallId }
  const input = { name: 'weather', effect: 'once', inputHash: 'hash', idempotencyKey: `${runId}/1/${toolCallId}` } as const
  return { ...key, ...input, session: 'room', index: 0, state: 'started', attempt: 1, startedAt: at, ...more }
}

export function settled(runId: string, toolCallId: string, more: Partial<ToolCallRecord> = {}): ToolCallRecord {
  const output = { type: 'text', value: `output of ${toolCallId}` } as const
  const names = { id: `result of ${toolCallId}`, toolCallId, toolName: 'weather' }
  const outcome = { role: 'tool-result', ...names, output, at, status: 'result', index: 0 } as const
  return call(runId, toolCallId, { state: 'settled', status: 'result', outcome, ...more })
}
