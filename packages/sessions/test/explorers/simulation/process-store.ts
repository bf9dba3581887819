import type { Batch, CommitResult } from '../../../src/contract/batch.ts'
import type { Claim, ClaimRequest, DeltaStore, LeaseState, StoreHint } from '../../../src/contract/session-store.ts'
import type { StateStore } from '../../../src/contract/state-store.ts'
import { aroundStore, type StoreOperation } from '../../../../testing/src/around-store.ts'
import type { CrashProcess } from '../../../../testing/src/crash-kit/crash-process.ts'
import { nameOfBatch, printResult } from '../../../../testing/src/crash-kit/print-commit.ts'
import type { RunOwners } from '../../../../testing/src/crash-kit/run-owners.ts'
import type { ProgramTime } from '../../../../testing/src/program-time.ts'
import type { LeaseWatch } from './lease-watch.ts'
import type { Hints } from './hints.ts'
import type { Network } from './network.ts'
import type { SharedHandle } from './shared-handle.ts'
import type { TenantWatch } from './tenant-watch.ts'

export interface ProcessStoreParts {
  readonly network: Network
  readonly hints: Hints
  readonly time: ProgramTime
  readonly owners: RunOwners
  readonly leases: LeaseWatch
  readonly tenants: TenantWatch
  readonly staleWrites: string[]
  readonly log: (process: CrashProcess, what: string) => void
}

/** Wraps the shared store for one process: calls go through the network, and the watchers see what the store does. */
export function processStore(parts: ProcessStoreParts, process: CrashProcess, shared: SharedHandle): SharedHandle {
  const { network, hints } = parts
  const deltas = shared.deltas && deltasOf(parts, process, shared.deltas)
  const watched = aroundStore(shared, async (operation, args, go) => {
    const answer = await network.ask(process, operation, () =>
      operation === 'open' || operation === 'close' ? Promise.resolve(undefined) : watch(parts, process, operation, args, go),
    )
    if (operation === 'commit' && isApplied(answer as CommitResult)) hints.tellCommit(process, args[0] as Batch)
    return answer
  })
  return new Proxy(watched, {
    get(target, name) {
      if (name === 'subscribe') return (listener: (hint: StoreHint) => void) => hints.subscribe(process, listener)
      if (name === 'deltas') return deltas
      if (name === 'state') return stateOf(parts, process, shared.state)
      if (name === 'completeTicket') return (key: string) => network.ask(process, 'ticket', () => shared.completeTicket(key))
      return Reflect.get(target, name) as unknown
    },
  })
}

async function watch(
  parts: ProcessStoreParts,
  process: CrashProcess,
  operation: StoreOperation,
  args: readonly unknown[],
  go: () => Promise<unknown>,
): Promise<unknown> {
  const { log, owners, leases, tenants, time, staleWrites } = parts
  const lost = operation === 'commit' ? owners.lostRunsIn(process, args[0] as Batch) : []
  const answer = await go()
  switch (operation) {
    case 'commit': {
      const [batch, result] = [args[0] as Batch, answer as CommitResult]
      log(process, `commit ${batch.key} ${nameOfBatch(batch)}: ${printResult(result)}`)
      if (isApplied(result))
        staleWrites.push(
          ...lost.map((runId) => `${process.name} wrote ${nameOfBatch(batch)} for the run ${runId} after another process had claimed it`),
        )
      break
    }
    case 'claim': {
      const claims = answer as readonly Claim[]
      owners.claimed(process, claims)
      await tenants.claimed(claims)
      leases.claimed(claims, (args[0] as ClaimRequest).leaseMs, time.passed)
      log(
        process,
        claims.length === 0
          ? 'claim: nothing'
          : `claim: ${claims.map(({ run, previous }) => `${run.id} (${previous}) with epoch ${run.epoch}`).join(', ')}`,
      )
      break
    }
    case 'renew': {
      const states = answer as readonly LeaseState[]
      log(
        process,
        `renew: ${states.map(({ runId, held, stopping }) => `${runId}${held ? '' : ' is lost'}${stopping ? ' is to stop' : ''}`).join(', ')}`,
      )
      break
    }
    default:
      log(process, operation)
  }
  return answer
}

function isApplied(result: CommitResult): boolean {
  return result.ok && !result.existing
}

function deltasOf({ network, hints, log }: ProcessStoreParts, process: CrashProcess, deltas: DeltaStore): DeltaStore {
  return {
    async push(batch) {
      await network.ask(process, 'push deltas', () => {
        log(process, `push deltas ${batch.key} ${batch.base}.${batch.n} (${batch.events.length})`)
        return deltas.push(batch)
      })
      hints.tellDeltas(process, batch.key)
    },
    read: (key, after) =>
      network.ask(process, 'read deltas', async () => {
        const batches = await deltas.read(key, after)
        log(process, `read deltas ${key} after ${after.base}.${after.n}: ${batches.length}`)
        return batches
      }),
  }
}

function stateOf({ network }: ProcessStoreParts, process: CrashProcess, state: StateStore): StateStore {
  return new Proxy(state, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) =>
        network.ask(process, 'state', async () => (member as (...given: unknown[]) => unknown).apply(target, args))
    },
  })
}
