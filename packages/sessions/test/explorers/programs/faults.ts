import { createRuntime } from '../../../src/runtime/create-runtime.ts'
import type { AroundRun } from '../../../src/runtime/types.ts'
import type { RunInfo } from '../../../src/commands/types.ts'
import type { Batch, Write } from '../../../src/contract/batch.ts'
import { openWords } from '../../../src/contract/run-status.ts'
import type { SessionStore } from '../../../src/contract/session-store.ts'
import { holdingStatuses, type RunRecord } from '../../../src/contract/records.ts'
import { aroundStore } from '../../../../testing/src/around-store.ts'
import type { ProgramFault } from './program-options.ts'

/** Returns a fault that changes each commit of a runtime. */
function writing(name: string, change: (batch: Batch) => Batch): ProgramFault {
  return {
    name,
    store: (store) => aroundStore(store, (operation, args, go) => (operation === 'commit' ? store.commit(change(args[0] as Batch)) : go())),
  }
}

function eachWrite(batch: Batch, change: (write: Write) => readonly Write[]): Batch {
  const { writes, deliver } = batch
  return {
    ...batch,
    writes: writes.flatMap(change),
    ...(deliver && { deliver: deliver.map((each) => ({ ...each, writes: each.writes.flatMap(change) })) }),
  }
}

const withoutIds = (write: Write, isKept: (id: string) => boolean): readonly Write[] =>
  write.op === 'inbox.take' ? [{ ...write, ids: write.ids.filter(isKept) }] : [write]

const notificationKeepsItsRows = writing('a notification that keeps its rows', (batch) =>
  eachWrite(batch, (write) => withoutIds(write, (id) => !id.startsWith('child-settled:'))),
)

const deadlineIsDropped = writing('a dropped deadline', (batch) => eachWrite(batch, (write) => (write.op === 'timer.put' ? [] : [write])))

const steerIsLost = writing('a lost steer', (batch) => {
  const puts = batch.writes.some((write) => write.op === 'inbox.put' && write.rows.some(({ kind }) => kind === 'steer'))
  return puts && batch.writes.length === 1 ? { ...batch, writes: [] } : batch
})

const fenceIsLeftOut = writing('a fence left out', (batch) => ({ ...batch, expect: batch.expect.filter(({ that }) => that !== 'fence') }))

/** The ledger records that a call has started only together with its outcome. */
const intentComesLate = writing('an outcome stored before its call', (batch) =>
  eachWrite(batch, (write) =>
    write.op === 'call.put'
      ? [{ ...write, calls: write.calls.map((call) => (call.state === 'started' ? { ...call, state: 'pending' } : call)) }]
      : [write],
  ),
)

const wakeIsLost = writing('a wake lost', (batch) => ({
  ...batch,
  ...(batch.deliver && { deliver: batch.deliver.filter(({ id }) => !id.endsWith(':wake')) }),
}))

const noticeIsLeftOut = writing('a notice left out', (batch) => {
  const ends = batch.writes.some((write) => write.op === 'run.patch' && write.patch.status === 'completed')
  return ends ? { ...batch, notify: [] } : batch
})

/** A page begins after as many sessions as the pages before it had. */
const pagesByNumber: ProgramFault = {
  name: 'pages by number',
  store: (store) =>
    aroundStore(store, async (operation, args, go) => {
      if (operation !== 'listSessions') return go()
      const [{ limit, page, ...query }] = args as Parameters<SessionStore['listSessions']>
      if (limit !== 1) return go()
      const { items } = await store.listSessions({ ...query, limit: 1000 })
      const place = Number(page ?? 0)
      return { items: items.slice(place, place + 1), ...(place + 1 < items.length && { next: String(place + 1) }) }
    }),
}

/** An overlay is stored only when its turn has ended. */
const overlayComesLate: ProgramFault = {
  name: 'an overlay stored after its turn',
  runtime(options) {
    const runtime = createRuntime(options)
    const session: typeof runtime.session = (key, given) => {
      const made = runtime.session(key, given)
      const send: typeof made.send = async (input, sendOptions) => {
        const handle = await made.send(input, sendOptions)
        const late = async (...args: Parameters<typeof handle.overlay>): Promise<void> => {
          await handle.result()
          await made.overlay(...args)
        }
        return { ...handle, overlay: async (...args) => void late(...args).catch(() => undefined) }
      }
      return { ...made, send }
    }
    return { ...runtime, session }
  },
}

/** A lost run is claimed only if it is also the next one in the queue. */
const queueOrderInClaims: ProgramFault = {
  name: 'lost runs claimed in queue order only',
  store: (store) =>
    aroundStore(store, async (operation, args, go) => {
      if (operation !== 'claim') return go()
      const [request] = args as Parameters<SessionStore['claim']>
      const { items } = await store.listSessions({ status: openWords, limit: 1000 })
      const next = await Promise.all(
        items.map(async ({ key }) =>
          firstByPlace((await store.listRuns(key, { status: ['queued', ...holdingStatuses], limit: 1000 })).items),
        ),
      )
      const claims = []
      for (const run of next) {
        if (!run || claims.length >= request.max || (request.runId ?? run.id) !== run.id) continue
        claims.push(...(await store.claim({ ...request, max: 1, runId: run.id })))
      }
      return claims
    }),
}

function firstByPlace(runs: readonly RunRecord[]): RunRecord | undefined {
  return runs.toSorted((a, b) => a.place - b.place)[0]
}

/** An ended execution keeps its slot. */
const slotIsNotReleased: ProgramFault = {
  name: 'a slot not released',
  runtime(options) {
    const aroundRun: AroundRun = async (run, execute) => {
      const value = await execute()
      return run.kind === 'follow-up' ? new Promise<typeof value>(() => undefined) : value
    }
    return createRuntime({ ...options, aroundRun })
  },
}

const readsExtendTtl: ProgramFault = {
  name: 'a TTL extended by reads',
  store(store) {
    let reads = 0
    return aroundStore(store, async (operation, args, go) => {
      const read = await go()
      if (operation !== 'readSession' || (read as Awaited<ReturnType<SessionStore['readSession']>>).status !== 'found') return read
      await store.commit({ id: `read-${++reads}`, key: args[0] as string, expect: [], writes: [{ op: 'session.patch', patch: {} }] })
      return go()
    })
  },
}

/** At a save-point the reader checks the present state of the run, not its state at the save-point. */
const readerChecksCurrentState: ProgramFault = {
  name: 'a reader that checks the current state',
  runtime(options) {
    const runtime = createRuntime(options)
    const session: typeof runtime.session = (key, given) => {
      const made = runtime.session(key, given)
      const events: typeof made.events = (eventOptions = {}) => {
        const log = made.events(eventOptions)
        const runId = typeof eventOptions === 'string' ? undefined : eventOptions.runId
        return runId === undefined
          ? log
          : { [Symbol.asyncIterator]: () => untilRest(log[Symbol.asyncIterator](), async () => hasRest(await runtime.run(runId))) }
      }
      return { ...made, events }
    }
    return { ...runtime, session }
  },
}

type Log = ReturnType<ReturnType<ReturnType<typeof createRuntime>['session']>['events']>
type Iterator = ReturnType<Log[typeof Symbol.asyncIterator]>

function untilRest(log: Iterator, isResting: () => Promise<boolean>): Iterator {
  let isOver = false
  return {
    take: () => undefined,
    return: () => log.return?.() ?? Promise.resolve({ done: true, value: undefined }),
    async next() {
      if (isOver) return { done: true, value: undefined }
      const result = await log.next()
      if (!result.done && result.value.type === 'save-point') isOver = await isResting()
      return result
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}

function hasRest(run: RunInfo | null): boolean {
  return !run || (run.outcome !== undefined && run.outcome !== 'awaiting-subagent')
}

/** Planted faults that the invariants must find. */
export const programFaults: readonly ProgramFault[] = [
  notificationKeepsItsRows,
  queueOrderInClaims,
  deadlineIsDropped,
  readerChecksCurrentState,
  steerIsLost,
  fenceIsLeftOut,
  intentComesLate,
  wakeIsLost,
  slotIsNotReleased,
  readsExtendTtl,
  noticeIsLeftOut,
  pagesByNumber,
  overlayComesLate,
]
