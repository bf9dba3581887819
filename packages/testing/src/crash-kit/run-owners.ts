import type { Batch, Claim, Write } from '@bowline/sessions'
import type { CrashProcess } from './crash-process.ts'

/** Tracks which process claimed each run last, and the epoch that each process knows. */
export class RunOwners {
  readonly #owners = new Map<string, { readonly process: CrashProcess; readonly epoch: number }>()
  readonly #epochs = new Map<CrashProcess, Map<string, number>>()

  claimed(process: CrashProcess, claims: readonly Claim[]): void {
    const known = this.#epochs.get(process) ?? new Map<string, number>()
    this.#epochs.set(process, known)
    for (const { run } of claims) {
      known.set(run.id, run.epoch)
      this.#owners.set(run.id, { process, epoch: run.epoch })
    }
  }

  /** Returns the process that claimed the run last. */
  ownerOf(runId: string): CrashProcess | undefined {
    return this.#owners.get(runId)?.process
  }

  /** Returns the runs for which the batch writes as their owner, although another process has claimed them since. */
  lostRunsIn(process: CrashProcess, batch: Batch): readonly string[] {
    const written = new Set(batch.writes.flatMap(runsOf))
    const ended = new Set(
      batch.writes.flatMap((write) => (write.op === 'run.patch' && write.patch.status === 'aborted' ? write.runId : [])),
    )
    const isFenced = batch.expect.some(({ that }) => that === 'fence')
    return [...written].filter((runId) => {
      const owner = this.#owners.get(runId)
      const known = this.#epochs.get(process)?.get(runId)
      // A client that kills a session ends its runs in every process.
      if (!isFenced && ended.has(runId)) return false
      return owner !== undefined && owner.process !== process && (known ?? owner.epoch) < owner.epoch
    })
  }
}

function runsOf(write: Write): readonly string[] {
  if (write.op === 'entry.append') return write.entries.flatMap((entry) => entry.runId ?? [])
  if (write.op === 'call.put') return write.calls.flatMap((call) => (call.state === 'pending' ? [] : call.runId))
  return []
}
