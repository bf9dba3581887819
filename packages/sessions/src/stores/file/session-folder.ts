import { rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { JSONObject } from '@bowline/llm'
import { SessionError } from '../../errors.ts'
import type { Delivery } from '../../contract/batch.ts'
import { applyDelivery } from '../memory/commit.ts'
import { newSpace } from '../memory/space.ts'
import type { Space, Work } from '../memory/space.ts'
import { put } from '../memory/work.ts'
import { DefinitionFiles } from './definition-files.ts'
import { attempt, damageOf } from './file-errors.ts'
import { fileNameOf } from './file-names.ts'
import { loadSessions } from './load-sessions.ts'
import type { DamagedSession, LoadedSession } from './load-sessions.ts'
import { LogFile } from './log-file.ts'
import { checkSizes, newestFormat, recordOf, rowsOf } from './log-record.ts'
import type { LogRecord } from './log-record.ts'
import { addToSpace, recordsOf, rowsIn } from './session-content.ts'
import type { SessionContent } from './session-content.ts'
import { SyncGroup } from './sync-group.ts'

export interface SessionFolderOptions {
  readonly folder: string
  readonly fsync: boolean
  readonly maxRecordBytes: number
  readonly now: () => number
}

interface SessionFile extends Pick<SessionContent, 'outbox' | 'received'> {
  readonly key: string
  readonly log: LogFile
  /** Rows in the file, obsolete ones included. */
  rows: number
}

interface Sent {
  readonly file: SessionFile
  readonly deliveries: readonly Delivery[]
}

/** A file is rewritten if it has more than this many times the rows that it needs. */
const mostRowsPerRow = 3
const rowsNotWorthIt = 100

/** The sessions of a namespace in memory, and the folder with one file of changes for each. */
export class SessionFolder {
  readonly space: Space
  readonly #options: SessionFolderOptions
  readonly #definitions: DefinitionFiles
  readonly #group: SyncGroup
  readonly #files = new Map<string, SessionFile>()
  /** Files with a non-empty outbox. */
  readonly #sending = new Set<SessionFile>()
  /** Keys of files that have grown since they were last tidied. */
  readonly #untidy = new Set<string>()
  /** By file name, since the key may be unreadable. */
  readonly #damaged = new Map<string, DamagedSession>()

  constructor(options: SessionFolderOptions) {
    this.#options = options
    this.#definitions = new DefinitionFiles(join(options.folder, 'definitions'), options.fsync)
    this.#group = new SyncGroup(options.folder)
    this.space = newSpace({ loss: 'owner', keep: (work) => this.#keep(work) })
  }

  async load(): Promise<void> {
    const { folder, fsync } = this.#options
    const { sessions, damaged } = loadSessions(folder, fsync)
    for (const each of damaged) this.#damaged.set(basename(each.path), each)
    for (const each of sessions) this.#add(each)
    for (const { hash, body } of this.#definitions.load()) this.space.definitions.set(hash, body)
    await this.settle()
    this.#forgetReceived()
    this.tidy()
  }

  #add({ path, key, content, bytes, lines, rows }: LoadedSession): void {
    const { outbox, received } = content
    const file = { key, log: new LogFile(path, this.#options.fsync, bytes, lines), outbox, received, rows }
    this.#files.set(key, file)
    this.#untidy.add(key)
    if (outbox.size > 0) this.#sending.add(file)
    addToSpace(this.space, key, content)
  }

  /** True if deliveries to other sessions are pending. */
  get isSending(): boolean {
    return this.#sending.size > 0
  }

  /** Throws if the file of the session is damaged. */
  checkSession(key: string): void {
    const damaged = this.#damaged.size > 0 ? this.#damaged.get(fileNameOf(key)) : undefined
    if (damaged) throw damageOf(damaged.path, damaged.line)
  }

  checkRun(runId: string): void {
    const damaged = [...this.#damaged.values()].find((each) => each.runIds.includes(runId))
    if (damaged) throw damageOf(damaged.path, damaged.line)
  }

  checkDefinition(hash: string): void {
    this.#definitions.check(hash)
  }

  /** Writes one line. The step is durable once the line is on the disk (`settle`). */
  #keep(work: Work): void {
    const record = recordOf(work)
    if (!record) return
    for (const { map, key, after } of work.changes) {
      if (map === this.space.definitions) this.#definitions.keep({ hash: key as string, body: after as JSONObject })
    }
    const text = JSON.stringify(record)
    // A character takes at most three bytes.
    if (text.length * 3 > this.#options.maxRecordBytes) checkSizes(record, this.#options.maxRecordBytes)
    const file = this.#fileOf(work.key)
    file.log.write(text, { canWait: work.isClaim === true })
    this.#group.add(file.log, work)
    this.#note(work, file, record)
  }

  #note(work: Work, file: SessionFile, record: LogRecord): void {
    const rows = rowsOf(record)
    file.rows += rows
    work.undo.push(() => (file.rows -= rows))
    put(work, this.#files, work.key, file)
    this.#untidy.add(work.key)
    for (const delivery of record.outbox ?? []) put(work, file.outbox, delivery.id, delivery)
    for (const id of record.received ?? []) {
      if (!file.received.has(id)) work.undo.push(() => file.received.delete(id))
      file.received.add(id)
    }
    if (file.outbox.size > 0) this.#sending.add(file)
  }

  #fileOf(key: string): SessionFile {
    const { folder, fsync } = this.#options
    const log = (): LogFile => new LogFile(join(folder, fileNameOf(key)), fsync)
    return this.#files.get(key) ?? { key, log: log(), outbox: new Map(), received: new Set(), rows: 0 }
  }

  /**
   * Resolves when all lines are on the disk and pending deliveries were applied to other sessions. If a line cannot be synced,
   * restores the file and the memory and rejects.
   */
  async settle(): Promise<void> {
    await this.#group.sync()
    const sent = this.#deliver()
    // Both sides are synced in turn: the receiver must have stored the delivery before the sender forgets it, and the reverse.
    if (sent.length === 0 || !(await this.#isSynced())) return
    const noted = sent.filter((each) => attempt(() => this.#noteSent(each)))
    if (await this.#isSynced()) for (const each of noted) this.#forgetSent(each)
  }

  async #isSynced(): Promise<boolean> {
    try {
      await this.#group.sync()
      return true
    } catch (error) {
      if (SessionError.isInstance(error)) return false
      throw error
    }
  }

  /** Applies pending deliveries. Those that cannot be written now are retried with the next group. */
  #deliver(): readonly Sent[] {
    const sent: Sent[] = []
    for (const file of this.#sending) {
      const deliveries = [...file.outbox.values()].filter((delivery) => this.#handOver(delivery))
      if (deliveries.length > 0) sent.push({ file, deliveries })
      if (file.outbox.size === 0) this.#sending.delete(file)
    }
    return sent
  }

  #handOver(delivery: Delivery): boolean {
    if (this.#files.get(delivery.to)?.received.has(delivery.id)) return true
    return attempt(() => {
      this.checkSession(delivery.to)
      applyDelivery(this.space, delivery, this.#options.now())
    })
  }

  #noteSent({ file, deliveries }: Sent): void {
    const record: LogRecord = { format: newestFormat, key: file.key, sent: deliveries.map((delivery) => delivery.id) }
    file.log.write(JSON.stringify(record))
    this.#group.add(file.log)
    this.#untidy.add(file.key)
  }

  #forgetSent({ file, deliveries }: Sent): void {
    file.rows += deliveries.length
    for (const { id, to } of deliveries) {
      file.outbox.delete(id)
      this.#files.get(to)?.received.delete(id)
      this.#untidy.add(to)
    }
    if (file.outbox.size === 0) this.#sending.delete(file)
  }

  /** Drops ids that no outbox holds. Keeps all if a file is damaged: its outbox is unknown, so any delivery may come again. */
  #forgetReceived(): void {
    if (this.#damaged.size > 0) return
    const waiting = new Set([...this.#sending].flatMap((file) => [...file.outbox.keys()]))
    for (const { received } of this.#files.values()) for (const id of received) if (!waiting.has(id)) received.delete(id)
  }

  /** Rewrites files with mostly obsolete rows. Ignores failures: the old files are still valid, and a later call retries. */
  tidy(keys: Iterable<string> = this.#untidy): void {
    for (const key of [...keys]) {
      const file = this.#files.get(key)
      if (!file || attempt(() => this.#tidyFile(file))) this.#untidy.delete(key)
    }
    if (this.#damaged.size === 0) attempt(() => this.#definitions.keepOnly(this.space.definitions))
  }

  #tidyFile(file: SessionFile): void {
    const { key, log, outbox, received } = file
    const content = { held: this.space.sessions.get(key), tombstone: this.space.tombstones.get(key), outbox, received }
    const needed = rowsIn(content)
    if (content.held && file.rows <= needed * mostRowsPerRow + rowsNotWorthIt) return
    if (!content.held && file.rows === needed && needed > 0) return
    log.replace(recordsOf(key, content).map((record) => JSON.stringify(record)))
    file.rows = needed
    if (!content.held) rmSync(`${log.path}.bak`, { force: true })
    if (needed === 0) this.#files.delete(key)
  }
}
