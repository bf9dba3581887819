import type { Batch, Claim, CommitResult, SessionStore } from '@bowline/sessions'
import type { Instruments } from './instruments.ts'

const msPerSecond = 1000
const terminal: readonly string[] = ['completed', 'aborted', 'error', 'halted', 'limit']

/** Returns a store that also counts the operations of a runtime. */
export function measuredStore(store: SessionStore, instruments: Instruments): SessionStore {
  const measured: Partial<SessionStore> = {
    async commit(batch) {
      const stop = instruments.commitSeconds.startTimer()
      const result = await store.commit(batch).finally(stop)
      countEnds(batch, result, instruments)
      return result
    },
    async claim(request) {
      const claims = await store.claim(request)
      instruments.runsRunning.set(request.holds.length + claims.length)
      for (const claim of claims) countClaim(claim, instruments)
      return claims
    },
    async close() {
      await store.close()
      instruments.runsRunning.set(0)
    },
  }
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(measured, name) ?? Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

function countEnds({ writes }: Batch, result: CommitResult, { runs }: Instruments): void {
  if (!result.ok) return
  for (const write of writes) {
    const status = write.op === 'run.patch' ? write.patch.status : undefined
    if (status !== undefined && terminal.includes(status)) runs.inc({ status })
  }
}

function countClaim({ run, previous }: Claim, { recoveries, queueSeconds }: Instruments): void {
  if (previous === 'running') recoveries.inc()
  // A run that had started before has not waited since it was accepted.
  if (run.epoch !== 1 || run.claimedAt === undefined) return
  const waitingSince = Math.max(run.createdAt, run.notBefore ?? 0)
  queueSeconds.observe(Math.max(0, run.claimedAt - waitingSince) / msPerSecond)
}
