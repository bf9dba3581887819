import type { Batch, Write } from '../../../src/contract/batch.ts'
import type {
  Claim,
  ClaimRequest,
  DeltaBatch,
  DeltaPlace,
  Lease,
  LeaseState,
  SessionStore,
  StoreHint,
} from '../../../src/contract/session-store.ts'
import { waitingKinds } from '../../../src/contract/records.ts'
import { aroundStore } from '../../../../testing/src/around-store.ts'
import type { SimulationFault } from './options.ts'

/** Returns a fault that changes each commit of a process. */
function writing(name: string, change: (batch: Batch) => Batch): SimulationFault {
  return {
    name,
    plant: () => ({
      client: (store) =>
        aroundStore(store, (operation, args, go) => (operation === 'commit' ? store.commit(change(args[0] as Batch)) : go())),
    }),
  }
}

const fenceOff = writing('fence off', (batch) => ({ ...batch, expect: batch.expect.filter(({ that }) => that !== 'fence') }))

const stopNotStored = writing('stop not stored', (batch) => ({ ...batch, writes: batch.writes.map(withoutStop) }))

function withoutStop(write: Write): Write {
  if (write.op !== 'run.patch' || !write.patch.stop) return write
  const { stop: _stop, ...patch } = write.patch
  return { ...write, patch }
}

const deliveryDoubled = writing('delivery doubled', (batch) => ({
  ...batch,
  ...(batch.deliver && { deliver: batch.deliver.flatMap((each) => [each, { ...each, id: `${each.id} again` }]) }),
}))

/** Renewals succeed, but do not extend the leases. */
const leaseNotRenewed: SimulationFault = {
  name: 'lease not renewed',
  plant: () => ({
    client: (store) =>
      aroundStore(store, async (operation, args, go) => {
        if (operation !== 'renew') return go()
        const [leases] = args as [readonly Lease[]]
        return Promise.all(
          leases.map(async ({ runId, epoch }): Promise<LeaseState> => {
            const run = await store.readRun(runId)
            if (run.status !== 'found' || run.value.status !== 'running' || run.value.epoch !== epoch) return { runId, held: false }
            return { runId, held: true, ...(run.value.stop && { stopping: run.value.stop }) }
          }),
        )
      }),
  }),
}

/** A process claims only after a hint that there is work. */
const hintTrusted: SimulationFault = {
  name: 'hint trusted',
  plant: () => ({
    client(store) {
      let isTold = true
      const subscribe = (listener: (hint: StoreHint) => void) =>
        store.subscribe((hint) => {
          isTold ||= hint.wake
          listener(hint)
        })
      const around = aroundStore(store, async (operation, _args, go) => {
        if (operation !== 'claim') return go()
        if (!isTold) return []
        isTold = false
        return go()
      })
      return new Proxy(around, { get: (target, name) => (name === 'subscribe' ? subscribe : (Reflect.get(target, name) as unknown)) })
    },
  }),
}

/** A claim reads first and writes later, so that runs which another process claimed in between are claimed twice. */
const doubleClaim: SimulationFault = {
  name: 'double claim',
  plant: () => ({
    client: (store) =>
      aroundStore(store, async (operation, args, go) => {
        if (operation !== 'claim') return go()
        const seen = await queuedRuns(store)
        const claims = (await go()) as readonly Claim[]
        const taken = await Promise.all(seen.map((runId) => claimedMeanwhile(store, runId, args[0] as ClaimRequest)))
        return [...claims, ...taken.flat().filter(({ run }) => claims.every((claim) => claim.run.id !== run.id))]
      }),
  }),
}

async function queuedRuns(store: SessionStore): Promise<readonly string[]> {
  const { items } = await store.listSessions({ status: ['queued'], limit: 100 })
  const runs = await Promise.all(items.map(async ({ key }) => (await store.listRuns(key, { status: ['queued'] })).items[0]?.id ?? []))
  return runs.flat()
}

async function claimedMeanwhile(store: SessionStore, runId: string, { owner }: ClaimRequest): Promise<readonly Claim[]> {
  const run = await store.readRun(runId)
  if (run.status !== 'found' || run.value.status !== 'running' || run.value.owner === owner) return []
  const session = await store.readSession(run.value.session)
  const inbox = await store.readInbox(run.value.session, waitingKinds)
  return session.status === 'found' ? [{ run: { ...run.value, owner }, session: session.value, previous: 'queued', inbox }] : []
}

/** A takeover keeps the epoch, so that the old owner can still write. */
const epochNotRaised: SimulationFault = {
  name: 'epoch not raised',
  plant: () => ({
    client: (store) =>
      aroundStore(store, async (operation, args, go) => {
        if (operation === 'claim') return ((await go()) as readonly Claim[]).map((claim) => ({ ...claim, run: { ...claim.run, epoch: 1 } }))
        if (operation === 'renew') return store.renew(...(await newestEpochs(store, args as Parameters<SessionStore['renew']>)))
        if (operation === 'commit') return store.commit(await underNewestEpoch(store, args[0] as Batch))
        return go()
      }),
  }),
}

async function newestEpoch(store: SessionStore, runId: string, epoch: number): Promise<number> {
  const run = await store.readRun(runId)
  return run.status === 'found' ? run.value.epoch : epoch
}

async function newestEpochs(
  store: SessionStore,
  [leases, leaseMs]: Parameters<SessionStore['renew']>,
): Promise<Parameters<SessionStore['renew']>> {
  return [await Promise.all(leases.map(async ({ runId, epoch }) => ({ runId, epoch: await newestEpoch(store, runId, epoch) }))), leaseMs]
}

async function underNewestEpoch(store: SessionStore, batch: Batch): Promise<Batch> {
  const expect = await Promise.all(
    batch.expect.map(async (each) => (each.that === 'fence' ? { ...each, epoch: await newestEpoch(store, each.runId, each.epoch) } : each)),
  )
  return { ...batch, expect }
}

/** The ticket is completed before the commit that stores its work. */
const ticketFirst: SimulationFault = {
  name: 'ticket completed before the commit',
  plant: () => ({
    client: (store) =>
      aroundStore(store, async (operation, args, go) => {
        if (operation !== 'commit') return go()
        const { key, expect, writes } = args[0] as Batch
        const leaves = writes.some(
          (write) => write.op === 'run.patch' && write.patch.status !== undefined && write.patch.status !== 'running',
        )
        if (leaves && expect.some(({ that }) => that === 'fence')) await store.completeTicket(key)
        return go()
      }),
  }),
}

/** A claim ignores the runs of the tenant in other processes. */
const tenantUncounted: SimulationFault = {
  name: 'tenant counted per process',
  plant: () => ({
    client: (store) =>
      aroundStore(store, (operation, args, go) => {
        if (operation !== 'claim') return go()
        const { maxRunsPerTenant: _left, ...request } = args[0] as ClaimRequest
        return store.claim(request)
      }),
  }),
}

/** A renewal without an answer counts as successful. */
const silenceRenews: SimulationFault = {
  name: 'failed renewal counted as renewed',
  plant: () => ({
    client: (store) =>
      aroundStore(store, async (operation, args, go) => {
        if (operation !== 'renew') return go()
        return go().catch(() => (args[0] as readonly Lease[]).map(({ runId }): LeaseState => ({ runId, held: true })))
      }),
  }),
}

/** A commit without an answer is repeated under another batch id. */
const batchRenamed: SimulationFault = {
  name: 'batch repeated under another id',
  plant: () => ({
    client: (store) =>
      aroundStore(store, (operation, args, go) => {
        const batch = args[0] as Batch
        return operation === 'commit' ? go().catch(() => store.commit({ ...batch, id: `${batch.id} again` })) : go()
      }),
  }),
}

/** Deltas after a gap are numbered as if there were no gap. */
const gapHidden: SimulationFault = {
  name: 'gap in live deltas hidden',
  plant: () => ({
    client(store) {
      const deltas = store.deltas && {
        push: (batch: DeltaBatch) => store.deltas?.push(batch) ?? Promise.resolve(),
        async read(key: string, after: DeltaPlace) {
          const batches = (await store.deltas?.read(key, after)) ?? []
          return batches.length < 2
            ? batches
            : batches
                .slice(1)
                .map((batch) => (batch.base === batches[0]?.base ? { ...batch, n: batch.n - batches[0].events.length } : batch))
        },
      }
      return new Proxy(store, { get: (target, name) => (name === 'deltas' ? deltas : (Reflect.get(target, name) as unknown)) })
    },
  }),
}

const clockTrusted: SimulationFault = { name: 'clock of the process trusted', plant: () => ({ shared: { trustsClocks: true } }) }
const wakeLost: SimulationFault = { name: 'wake lost', plant: () => ({ shared: { losesWakes: true } }) }
const tenantFirst: SimulationFault = { name: 'full tenant blocks other tenants', plant: () => ({ shared: { waitsForTenants: true } }) }

/** Planted faults that simulations must find. */
export const simulationFaults: readonly SimulationFault[] = [
  fenceOff,
  leaseNotRenewed,
  wakeLost,
  doubleClaim,
  stopNotStored,
  hintTrusted,
  clockTrusted,
  deliveryDoubled,
  epochNotRaised,
  ticketFirst,
  tenantUncounted,
  tenantFirst,
  silenceRenews,
  batchRenamed,
  gapHidden,
]
