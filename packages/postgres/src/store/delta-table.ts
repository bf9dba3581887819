import type { DeltaBatch, DeltaPlace, DeltaStore } from '@bowline/sessions/store-parts'
import { parseStored } from '@bowline/sessions/store-parts'
import type { Pipeline } from './pipeline.ts'
import { storeError } from './postgres-errors.ts'
import type { ProcessScope } from './process-table.ts'

/** Returns the statements that create the table of live deltas. It is unlogged: a crash of the server loses them. */
export function createDeltaTable(schema: string, settings: string): readonly string[] {
  const text = 'text collate "C" not null'
  return [
    `create unlogged table "${schema}".delta (
  namespace ${text},
  session ${text},
  base bigint not null,
  n bigint not null,
  run ${text},
  epoch bigint not null,
  events bigint not null,
  body ${text},
  primary key (namespace, session, base, n)
)${settings}`,
  ]
}

/** Deletes the deltas of a session. */
export function deleteDeltas(schema: string): string {
  return `delete from "${schema}".delta where namespace = $1 and session = $2`
}

/** Deletes the deltas of runs that are not running, in all namespaces: no commit will replace them. */
function deleteLeftDeltas(schema: string): string {
  return `delete from "${schema}".delta where not exists (
  select from "${schema}".lease where lease.namespace = delta.namespace and lease.run = delta.run
)`
}

/** Inserts deltas unless the run has lost its claim. After a takeover a run may number its deltas from the same base again. */
function insertDelta(schema: string): string {
  return `insert into "${schema}".delta (namespace, session, base, n, run, epoch, events, body)
select namespace, session, $4, $5, run, epoch, $6, $7 from "${schema}".lease where namespace = $1 and run = $2 and epoch = $3
on conflict (namespace, session, base, n) do update set run = excluded.run, epoch = excluded.epoch, events = excluded.events, body = excluded.body
where delta.epoch < excluded.epoch`
}

function deltasAfter(schema: string): string {
  return `select base, n, epoch, run, body from "${schema}".delta
where namespace = $1 and session = $2 and (base > $3 or (base = $3 and n + events - 1 > $4)) order by base, n`
}

/** The live deltas of one namespace. */
export class DeltaTable implements DeltaStore {
  readonly #pipeline: Pipeline
  readonly #scope: ProcessScope
  readonly #writer = new DeltaWriter((batches) => this.#insert(batches))
  readonly #onPushed: (key: string) => void

  /** `onPushed` notifies readers in all processes. */
  constructor(pipeline: Pipeline, scope: ProcessScope, onPushed: (key: string) => void) {
    this.#pipeline = pipeline
    this.#scope = scope
    this.#onPushed = onPushed
  }

  async push(batch: DeltaBatch): Promise<void> {
    await this.#writer.push(batch)
    this.#onPushed(batch.key)
  }

  /** Returns the deltas of the newest claim only. */
  async read(key: string, { base, n }: DeltaPlace): Promise<readonly DeltaBatch[]> {
    const { schema, namespace } = this.#scope
    const [result] = await this.#pipeline.read([this.#pipeline.query(deltasAfter(schema), [namespace, key, base, n])])
    const rows = (result?.rows ?? []) as readonly (DeltaPlace & Record<'run' | 'body', string> & { readonly epoch: number })[]
    const run = rows.at(-1)?.run
    const newest = Math.max(...rows.map((row) => (row.run === run ? row.epoch : 0)))
    return rows
      .filter((row) => row.run === run && row.epoch === newest)
      .map(({ run: runId, body, ...place }) => ({ key, runId, ...place, events: parseStored(body, `Deltas of the run ${runId}`) }))
  }

  /** Deletes the deltas that arrived while their run ended. */
  async prune(): Promise<void> {
    await this.#write([this.#pipeline.query(deleteLeftDeltas(this.#scope.schema), [])])
  }

  async #insert(batches: readonly DeltaBatch[]): Promise<void> {
    const { schema, namespace } = this.#scope
    const insert = insertDelta(schema)
    await this.#write(
      batches.map(({ runId, epoch, base, n, events }) =>
        this.#pipeline.query(insert, [namespace, runId, epoch, base, n, events.length, JSON.stringify(events)]),
      ),
    )
  }

  async #write(queries: readonly ReturnType<Pipeline['query']>[]): Promise<void> {
    for (const { error } of await this.#pipeline.write(queries.map((query) => [query])))
      if (error !== undefined) throw storeError(error, 'write')
  }
}

interface Waiting {
  readonly batch: DeltaBatch
  readonly stored: PromiseWithResolvers<void>
}

/** Writes the deltas of all runs of a process in one batch at a time: they never take more than one connection. */
export class DeltaWriter {
  readonly #write: (batches: readonly DeltaBatch[]) => Promise<void>
  #waiting: Waiting[] = []
  #isWriting = false

  constructor(write: (batches: readonly DeltaBatch[]) => Promise<void>) {
    this.#write = write
  }

  push(batch: DeltaBatch): Promise<void> {
    const stored = Promise.withResolvers<void>()
    this.#waiting.push({ batch, stored })
    if (!this.#isWriting) void this.#writeAll()
    return stored.promise
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true
    while (this.#waiting.length > 0) {
      const taken = this.#waiting
      this.#waiting = []
      try {
        await this.#write(taken.map(({ batch }) => batch))
        for (const { stored } of taken) stored.resolve()
      } catch (error) {
        for (const { stored } of taken) stored.reject(error)
      }
    }
    this.#isWriting = false
  }
}
