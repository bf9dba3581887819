import { takeBack } from '../memory/work.ts'
import type { Work } from '../memory/space.ts'
import { withFileAsync } from './file-errors.ts'
import type { LogFile } from './log-file.ts'
import { syncFolderAsync } from './whole-file.ts'

/** Steps whose lines are not on the disk yet. Syncs each file once, whatever its number of lines. */
export class SyncGroup {
  readonly #folder: string
  #files = new Set<LogFile>()
  #steps: Work[] = []

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Must be called once for each line. Without `step`, a failed sync removes the line only. */
  add(file: LogFile, step?: Work): void {
    this.#files.add(file)
    if (step) this.#steps.push(step)
  }

  /** Resolves when all lines are on the disk. If a sync fails, takes back every step of the group and rejects. */
  async sync(): Promise<void> {
    const [files, steps] = [[...this.#files], this.#steps]
    this.#files = new Set()
    this.#steps = []
    const syncs = files.map((file) => file.sync())
    if (files.some((file) => file.isNew)) syncs.push(withFileAsync(this.#folder, () => syncFolderAsync(this.#folder)))
    const fault = (await Promise.allSettled(syncs)).find((sync) => sync.status === 'rejected')
    if (!fault) return files.forEach((file) => file.keep())
    for (const step of steps.reverse()) takeBack(step)
    for (const file of files) file.takeBack()
    throw fault.reason
  }
}
