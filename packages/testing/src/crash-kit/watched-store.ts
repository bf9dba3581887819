import type { Batch, Claim, CommitResult, LeaseState, SessionStore, StoreOpenOptions } from '@bowline/sessions'
import { aroundStore, type StoreOperation } from '../around-store.ts'
import type { CrashProcess } from './crash-process.ts'
import { nameOfBatch, printResult } from './print-commit.ts'
import type { Scene } from './scene.ts'

export interface WatchedStore {
  readonly store: SessionStore
  /** Releases what the operating system would release for a dead process. */
  readonly release: () => Promise<void>
}

/** Wraps the store for one process. Each commit and each claim is a point. */
export function watchedStore(scene: Scene, process: CrashProcess): WatchedStore {
  let isOpen = false

  async function open(options: StoreOpenOptions): Promise<void> {
    // The store has its own time, which continues while a process is stopped.
    await scene.ask(process, () => scene.store.open({ ...options, clock: scene.clock }))
    isOpen = true
  }

  async function close(go: () => Promise<unknown>): Promise<unknown> {
    isOpen = false
    return go()
  }

  async function commit(batch: Batch, go: () => Promise<unknown>): Promise<CommitResult> {
    const name = nameOfBatch(batch)
    await scene.point(process, 'before-commit', name)
    const stale = scene.owners.lostRunsIn(process, batch)
    const result = (await go()) as CommitResult
    scene.log(process, `commit ${name}: ${printResult(result)}`)
    if (!result.ok) return result
    scene.staleWrites.push(
      ...stale.map((runId) => `${process.name} wrote ${name} for the run ${runId} after another process had claimed it`),
    )
    await scene.point(process, 'after-commit', name)
    return result
  }

  async function claim(go: () => Promise<unknown>): Promise<readonly Claim[]> {
    const claims = (await go()) as readonly Claim[]
    if (claims.length === 0) return claims
    for (const { run, previous } of claims) {
      const owner = scene.owners.ownerOf(run.id)
      if (previous !== 'running' || owner === process || owner?.state !== 'alive') continue
      scene.hastyClaims.push({ runId: run.id, by: process.name, from: owner.name })
    }
    scene.owners.claimed(process, claims)
    for (const { run, previous } of claims) scene.log(process, `claim ${run.id} (${previous}): epoch ${run.epoch}`)
    if (claims.some(({ previous }) => previous === 'running')) scene.onTakeover()
    const names = claims.map(({ run }) => run.id).join(' ')
    await scene.point(process, 'after-claim', names)
    return claims
  }

  async function renew(go: () => Promise<unknown>): Promise<readonly LeaseState[]> {
    const states = (await go()) as readonly LeaseState[]
    for (const { runId, held } of states) if (!held) scene.log(process, `renew ${runId}: lost`)
    return states
  }

  async function call(operation: StoreOperation, args: readonly unknown[], ask: () => Promise<unknown>): Promise<unknown> {
    const go = (): Promise<unknown> => scene.ask(process, ask)
    switch (operation) {
      case 'open':
        return open(args[0] as StoreOpenOptions)
      case 'close':
        return close(go)
      case 'commit':
        return commit(args[0] as Batch, go)
      case 'claim':
        return claim(go)
      case 'renew':
        return renew(go)
      default:
        return go()
    }
  }

  const store = aroundStore(scene.store, async (operation, args, ask) => {
    await process.pass('store')
    const what = operation === 'commit' ? nameOfBatch(args[0] as Batch) : ''
    return scene.faults.around(
      process,
      { operation, what },
      () => call(operation, args, ask),
      (said) => scene.log(process, said),
    )
  })
  return { store, release: async () => void (isOpen && (await scene.store.close())) }
}
