import { defineAgent, type Compaction } from '@bowline/agent-loop'
import { createRuntime, type NewEntry, type SessionStore } from '@bowline/sessions'
import { streamAfter } from './contenders/bowline-function.ts'
import { median, type Bench } from './harness.ts'
import { withSqlite } from './sqlite-sample.ts'

const rounds = 9
const key = 'bench'
const atOnce = 100
const text = 'word '.repeat(60)

interface Variant {
  readonly name: string
  readonly entries: number
  /** Number of messages that a compaction at the end has kept. */
  readonly kept?: number
}

const variants: readonly Variant[] = [
  { name: 'no entries', entries: 0 },
  { name: '10,000 entries', entries: 10_000 },
  { name: '10,000 entries, compacted, 200 kept', entries: 10_000, kept: 200 },
]

export const bench: Bench = {
  title: 'The context of a long session on SQLite',
  text: [
    'Entries are messages of 300 characters. *Read* is the path from the leaf to the root, or to what the newest compaction has kept, in pages from the store; *to the model* is from',
    `\`send\` until the model is called, all commits in between and the work of the loop included. Medians of ${rounds} runs.`,
  ].join('\n'),
  async run() {
    const rows: string[][] = []
    for (const variant of variants) rows.push([variant.name, ...(await measured(variant)).map((ms) => ms.toFixed(1))])
    return { head: ['session', 'read ms', 'to the model ms'], rows }
  },
}

async function measured(variant: Variant): Promise<readonly [read: number, toModel: number]> {
  return withSqlite(async (store) => {
    let calledAt = 0
    const agent = defineAgent({
      name: 'reader',
      model: () => {
        calledAt = performance.now()
        return streamAfter([{ text: 1 }], 0)
      },
      compaction: false,
    })
    const runtime = createRuntime({ agents: [agent], store })
    try {
      await runtime.start()
      await fill(store, variant)
      const [reads, calls]: [number[], number[]] = [[], []]
      for (let round = 0; round < rounds; round += 1) {
        const readFrom = performance.now()
        await readPath(store, variant.kept)
        const sentAt = performance.now()
        await (await runtime.session(key).send('go')).result()
        reads.push(sentAt - readFrom)
        calls.push(calledAt - sentAt)
      }
      return [median(reads), median(calls)]
    } finally {
      await runtime.stop()
    }
  })
}

async function readPath(store: SessionStore, kept: number | undefined): Promise<void> {
  const limit = kept === undefined ? 1_000 : kept + 1
  let page = await store.readPath(key, { limit })
  for (let last = page.items.at(-1); kept === undefined && page.next !== undefined && last; last = page.items.at(-1)) {
    page = await store.readPath(key, { limit, before: last.id })
  }
}

async function fill(store: SessionStore, { entries, kept }: Variant): Promise<void> {
  for (let first = 1; first <= entries; first += atOnce)
    await append(
      store,
      Array.from({ length: atOnce }, (_, index) => entryOf(first + index)),
    )
  if (kept !== undefined) await append(store, [compactionOf(entries, kept)])
}

async function append(store: SessionStore, entries: readonly NewEntry[]): Promise<void> {
  const session = { id: 'session-1', agent: 'reader', metadata: {}, at: 1 }
  const writes = [
    { op: 'session.ensure', session },
    { op: 'entry.append', entries },
  ] as const
  const result = await store.commit({ id: `batch ${entries[0]?.id}`, key, expect: [], writes })
  if (!result.ok) throw new Error(result.reason)
}

function entryOf(n: number): NewEntry {
  const id = idOf(n)
  const node = { id, parentId: n === 1 ? null : idOf(n - 1), at: n, runId: 'run-0', type: 'message' } as const
  if (n % 2 === 1) return { ...node, message: { role: 'user', id, content: text } }
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
  const message = {
    role: 'assistant',
    id,
    content: [{ type: 'text', text }],
    provider: 'p',
    modelId: 'm',
    stopReason: 'stop',
    usage,
    at: n,
    timing: { totalMs: 1 },
  } as const
  return { ...node, message }
}

function compactionOf(entries: number, kept: number): NewEntry {
  const compaction: Compaction = {
    compactionId: 'compaction-1',
    summary: text,
    firstKeptMessageId: idOf(entries - kept + 1),
    lastMessageId: idOf(entries),
    tokensBefore: 1,
    tokensAfter: 1,
    facts: [],
    source: 'default',
    usage: {},
  }
  return { id: compaction.compactionId, parentId: idOf(entries), at: 1, runId: 'run-0', type: 'compaction', compaction }
}

function idOf(n: number): string {
  return `msg_01a20269-1fc8-7a65-8fd9-${String(n).padStart(12, '0')}`
}
