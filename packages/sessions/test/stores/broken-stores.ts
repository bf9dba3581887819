import type { Batch, Claim, CommitResult, SessionStore, ToolCallRecord, Write } from '@bowline/sessions'
import { memoryStore } from '@bowline/sessions/memory'

export interface BrokenStore {
  readonly name: string
  /** Rules whose tests must fail. */
  readonly rules: readonly string[]
  readonly create: () => SessionStore
}

/** Replaces some operations of a memory store. */
function replaced(replace: (store: SessionStore) => Partial<SessionStore>): () => SessionStore {
  return () => {
    const store = memoryStore()
    const other = replace(store)
    return new Proxy(store, { get: (target, name) => Reflect.get(name in other ? other : target, name) as unknown })
  }
}

/** Changes each batch before the store gets it. */
function changing(change: (batch: Batch, store: SessionStore) => Batch | Promise<Batch>): () => SessionStore {
  return replaced((store) => ({
    commit(batch) {
      const changed = change(batch, store)
      return changed instanceof Promise ? changed.then((other) => store.commit(other)) : store.commit(changed)
    },
  }))
}

function withWrites(batch: Batch, change: (write: Write) => Write): Batch {
  return { ...batch, writes: batch.writes.map(change) }
}

async function isKnown(store: SessionStore, key: string, entryId: string): Promise<boolean> {
  return store.readPath(key, { leaf: entryId, limit: 1 }).then(
    ({ items }) => items.length > 0,
    () => false,
  )
}

/** More than ten ways to be wrong. */
export const brokenStores: readonly BrokenStore[] = [
  {
    name: 'ignores the fence',
    rules: ['S36'],
    create: changing((batch) => ({ ...batch, expect: batch.expect.filter(({ that }) => that !== 'fence') })),
  },
  {
    name: 'applies the half of a batch that it refuses',
    rules: ['S34'],
    create: replaced((store) => ({ commit: (batch) => commitHalf(store, batch) })),
  },
  {
    name: 'uses a number of the log twice',
    rules: ['S38'],
    create: replaced((store) => ({
      async readEvents(key, after, limit) {
        const page = await store.readEvents(key, after, limit)
        return { ...page, events: page.events.map((event) => ({ ...event, seq: event.seq === 3 ? 2 : event.seq })) }
      },
    })),
  },
  { name: 'gives out what it holds', rules: ['S44'], create: replaced(sharing) },
  { name: 'lets a second claimer have the run too', rules: ['S55', 'S56'], create: replaced(claimingTwice) },
  { name: 'leaves a lost run alone while another one of its session waits', rules: ['S60', 'S25'], create: replaced(leavingLostRuns) },
  { name: 'forgets which batches it has applied', rules: ['S35'], create: forgetful() },
  {
    name: 'ends a run with an open call',
    rules: ['S42'],
    create: replaced((store) => ({ commit: (batch) => commitSettled(store, batch) })),
  },
  { name: 'does not look for the parent of an entry', rules: ['S43'], create: changing(adoptOrphans) },
  ...(['listRuns', 'listSessions', 'readPath'] as const).map((operation) => ({
    name: `begins each page with the end of the one before (${operation})`,
    rules: ['S47'],
    create: replaced((store) => ({ [operation]: repeating(store)[operation] })),
  })),
  {
    name: 'refuses to take what is not in the inbox',
    rules: ['S89'],
    create: replaced((store) => ({ commit: (batch) => commitStrictly(store, batch) })),
  },
  {
    name: 'renews a lease that was lost',
    rules: ['S57'],
    create: replaced((store) => ({
      renew: async (leases, ms) => (await store.renew(leases, ms)).map((state) => ({ ...state, held: true })),
    })),
  },
  { name: 'begins anew when it is opened again', rules: ['S15', 'S34', 'S60'], create: replaced(emptiedAtOpen) },
  { name: 'takes an input again that it has', rules: ['S15', 'S16'], create: changing((batch) => withWrites(batch, withoutInputId)) },
  {
    name: 'claims without the inbox',
    rules: ['S55'],
    create: replaced((store) => ({ claim: async (request) => (await store.claim(request)).map((claim) => ({ ...claim, inbox: [] })) })),
  },
  {
    name: 'claims runs of any agent',
    rules: ['S8'],
    create: replaced((store) => ({ claim: (request) => store.claim({ ...request, agents: ['assistant', 'other'] }) })),
  },
  {
    name: 'makes a session of what is missing',
    rules: ['S40'],
    create: replaced((store) => ({
      async readSession(key) {
        const read = await store.readSession(key)
        if (read.status === 'found') return read
        const session = { id: key, agent: 'assistant', metadata: {}, at: 0 }
        await store.commit({ id: `make-${key}`, key, expect: [], writes: [{ op: 'session.ensure', session }] })
        return store.readSession(key)
      },
    })),
  },
]

async function commitHalf(store: SessionStore, batch: Batch): Promise<CommitResult> {
  const result = await store.commit(batch)
  const half = batch.writes.slice(0, Math.floor(batch.writes.length / 2))
  if (!result.ok && half.length > 0) await store.commit({ ...batch, id: `${batch.id}-half`, writes: half })
  return result
}

function sharing(store: SessionStore): Partial<SessionStore> {
  const held = new Map<string, unknown>()
  const share = async <T>(read: Promise<T>): Promise<T> => {
    const value = await read
    const text = JSON.stringify(value)
    if (!held.has(text)) held.set(text, value)
    return held.get(text) as T
  }
  return { readSession: (key) => share(store.readSession(key)), readRun: (runId) => share(store.readRun(runId)) }
}

function claimingTwice(store: SessionStore): Partial<SessionStore> {
  const given = new Map<string, Claim>()
  return {
    async claim(request) {
      const claims = await store.claim(request)
      if (claims.length === 0) return [...given.values()].slice(0, request.max)
      for (const claim of claims) given.set(claim.run.id, claim)
      return claims
    },
  }
}

function forgetful(): () => SessionStore {
  let batches = 0
  return changing((batch) => ({ ...batch, id: `${batch.id}-${++batches}` }))
}

/** Gives open calls an invented outcome instead of refusing the batch. */
async function commitSettled(store: SessionStore, batch: Batch): Promise<CommitResult> {
  const result = await store.commit(batch)
  if (result.ok || result.reason !== 'open-calls') return result
  const runIds = batch.writes.flatMap((write) => (write.op === 'run.patch' ? [write.runId] : []))
  const calls = (await Promise.all(runIds.map((runId) => store.readCalls(runId)))).flat().filter((call) => call.state !== 'settled')
  const others = batch.writes.filter((write) => write.op !== 'call.put')
  return store.commit({ ...batch, writes: [{ op: 'call.put', calls: calls.map(madeUp) }, ...others] })
}

function madeUp(call: ToolCallRecord): ToolCallRecord {
  const { toolCallId, name, index } = call
  const output = { type: 'text', value: 'made up' } as const
  const outcome = {
    role: 'tool-result',
    id: `made-up-${toolCallId}`,
    toolCallId,
    toolName: name,
    output,
    at: 0,
    status: 'cancelled',
    index,
  } as const
  return { ...call, state: 'settled', status: 'cancelled', outcome }
}

async function adoptOrphans(batch: Batch, store: SessionStore): Promise<Batch> {
  const own = new Set(batch.writes.flatMap((write) => (write.op === 'entry.append' ? write.entries.map(({ id }) => id) : [])))
  const orphans = new Set<string>()
  for (const { parentId } of batch.writes.flatMap((write) => (write.op === 'entry.append' ? write.entries : []))) {
    if (parentId !== null && !own.has(parentId) && !(await isKnown(store, batch.key, parentId))) orphans.add(parentId)
  }
  return withWrites(batch, (write) => {
    if (write.op !== 'entry.append') return write
    return { ...write, entries: write.entries.map((entry) => (orphans.has(entry.parentId ?? '') ? { ...entry, parentId: null } : entry)) }
  })
}

function repeating(store: SessionStore): Pick<SessionStore, 'listRuns' | 'listSessions' | 'readPath'> {
  let last: unknown
  const repeat = async <Page extends { readonly items: readonly unknown[] }>(
    page: string | undefined,
    read: Promise<Page>,
  ): Promise<Page> => {
    const found = await read
    const before = last
    last = found.items.at(-1)
    return page === undefined ? found : { ...found, items: [before, ...found.items] }
  }
  return {
    listRuns: (key, query) => repeat(query?.page, store.listRuns(key, query)),
    listSessions: (query) => repeat(query.page, store.listSessions(query)),
    readPath: (key, options) => repeat(options?.before, store.readPath(key, options)),
  }
}

async function commitStrictly(store: SessionStore, batch: Batch): Promise<CommitResult> {
  const taken = batch.writes.flatMap((write) => (write.op === 'inbox.take' ? write.ids : []))
  const there = new Set((await store.readInbox(batch.key, ['answer', 'decision'])).map((row) => row.id))
  return taken.every((id) => there.has(id)) ? store.commit(batch) : { ok: false, reason: 'inbox' }
}

/** Opens another namespace each time, where its data is missing. */
function emptiedAtOpen(store: SessionStore): Partial<SessionStore> {
  let opens = 0
  return { open: (options) => store.open({ ...options, namespace: `${options.namespace}-${++opens}` }) }
}

function withoutInputId(write: Write): Write {
  if (write.op !== 'run.insert') return write
  const { inputId: _inputId, ...run } = write.run
  return { ...write, run }
}

function leavingLostRuns(store: SessionStore): Partial<SessionStore> {
  return {
    async claim(request) {
      const { items: sessions } = await store.listSessions({ limit: 1000 })
      for (const { key } of sessions) {
        const { items: open } = await store.listRuns(key, { status: ['running', 'queued'] })
        if (open.length > 1 && open.some(({ status }) => status === 'running')) return []
      }
      return store.claim(request)
    },
  }
}
