import type { CommitRefusal } from '../contract/batch.ts'

/** Stops the execution of a batch. Internal to the store: it becomes a refusal after everything was undone. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly reason: CommitRefusal

  constructor(reason: CommitRefusal) {
    super(reason)
    this.reason = reason
  }
}

export function refuseUnless(holds: boolean, reason: CommitRefusal): void {
  if (!holds) throw new Refused(reason)
}
