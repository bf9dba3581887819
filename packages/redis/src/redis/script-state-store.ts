import { randomBytes } from 'node:crypto'
import type { OpenableStateStore, Page, StateQuery, StateStore, Versioned } from '@bowline/sessions'
import {
  behindPrefix,
  checkedStateStore,
  checkPlace,
  checkTimeToLive,
  compareIds,
  pageLimit,
  pageOf,
  SessionError,
  textOfValue,
} from '@bowline/sessions/store-parts'
import { redisKeys, type RedisKeys } from './keys.ts'
import { casResultOf, expiryOf, replyOf, stateReadOf, textsOf, valueOf, type Reply } from './replies.ts'
import { LostAnswer, type ScriptServer } from './script-server.ts'
import { scripts, type Script } from './scripts.ts'

export interface ScriptStateStoreOptions {
  readonly server: ScriptServer
  readonly prefix: string
  readonly maxRecordBytes: number
  /** Clock of records. Default: the server's. */
  readonly now?: () => number
}

/** Implements versions, time to live and order of records with scripts on a server. */
export function scriptStateStore(options: ScriptStateStoreOptions): OpenableStateStore {
  const { server, prefix, maxRecordBytes, now } = options
  const keys = redisKeys(prefix)
  const calls = new ScriptCalls(server, keys)
  const time = (): string => (now ? String(now()) : '')

  const store: StateStore = {
    async get(space, id) {
      checkPlace(space, id)
      return stateReadOf(await calls.read(scripts.read, [keys.records(space), keys.value(space, id)], [id, time()]))
    },
    async compareAndSet(space, id, expected, value, { ttlMs }) {
      checkPlace(space, id)
      const text = textOfValue(value, maxRecordBytes)
      if (expected === null) await calls.addSpace(space)
      return casResultOf(await calls.change(scripts.compareAndSet, space, id, [time(), String(expected ?? ''), String(ttlMs), text]))
    },
    async touch(space, id, ttlMs) {
      checkPlace(space, id)
      checkTimeToLive(ttlMs)
      return casResultOf(await calls.change(scripts.touch, space, id, [time(), String(ttlMs)])).ok
    },
    async delete(space, id, expected) {
      checkPlace(space, id)
      return casResultOf(await calls.change(scripts.remove, space, id, [time(), String(expected ?? '')]))
    },
    async list(space, query) {
      checkPlace(space, 'any')
      return listRecords({ calls, keys, time, read: (id) => store.get(space, id) }, space, query)
    },
    async sweep(limit) {
      let swept = 0
      for (const space of textsOf(await calls.run(scripts.spaces, [keys.spaces], []))) {
        if (swept >= limit) break
        swept += await sweepSpace(calls, keys.record(String(space), ''), time, limit - swept)
      }
      return swept
    },
    close: () => server.close(),
  }
  return { ...checkedStateStore(store), open: () => server.open() }
}

const mostTries = 3

/** Runs scripts. Retries after a lost answer. */
class ScriptCalls {
  readonly #server: ScriptServer
  readonly #keys: RedisKeys
  readonly #newMark = markMaker()
  #spaces = new Set<string>()
  #losses = 0

  constructor(server: ScriptServer, keys: RedisKeys) {
    this.#server = server
    this.#keys = keys
  }

  /** Runs a script that changes nothing or is idempotent. */
  async run(script: Script, keys: readonly string[], args: readonly string[], most = mostTries): Promise<unknown> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#server.run(script, keys, args)
      } catch (error) {
        this.#endOf(error, tries, most)
      }
    }
  }

  async read(script: Script, keys: readonly string[], args: readonly string[]): Promise<Reply> {
    return replyOf(await this.run(script, keys, args))
  }

  /**
   * Executes a change once. After a lost answer, the next attempt passes the marks of the earlier ones. The script then returns the
   * outcome of the one that was executed, or blocks all of them and makes the change.
   */
  async change(script: Script, space: string, id: string, args: readonly string[]): Promise<Reply> {
    const marks: string[] = []
    for (;;) {
      marks.unshift(this.#newMark())
      const markKeys = marks.map((mark) => this.#keys.mark(space, mark))
      try {
        const reply = replyOf(await this.#server.run(script, [...this.#keys.record(space, id), ...markKeys], [id, ...args, ...marks]))
        if (reply[0] !== 'unknown' && reply[0] !== 'late') return reply
        throw unknownOutcome(this.#server.name)
      } catch (error) {
        this.#endOf(error, marks.length, mostTries)
      }
    }
  }

  /** Registers the space for `sweep`, before its first record. */
  async addSpace(space: string): Promise<void> {
    const { losses } = this.#server
    if (losses !== this.#losses) this.#spaces = new Set()
    this.#losses = losses
    if (this.#spaces.has(space)) return
    await this.run(scripts.addSpace, [this.#keys.spaces], [space])
    this.#spaces.add(space)
  }

  #endOf(error: unknown, tries: number, most: number): void {
    if (!(error instanceof LostAnswer)) throw error
    if (tries >= most) throw unknownOutcome(this.#server.name)
  }
}

function unknownOutcome(name: string): SessionError {
  return new SessionError(
    'store-unavailable',
    `${name} did not answer. A change may or may not have been made; read the record to find out.`,
  )
}

/** Returns a function that makes unique names for attempts, also across processes. */
function markMaker(): () => string {
  const own = randomBytes(6).toString('base64url')
  let made = 0
  return () => `${own}${(made++).toString(36)}`
}

interface ListParts {
  readonly calls: ScriptCalls
  readonly keys: RedisKeys
  readonly time: () => string
  readonly read: (id: string) => ReturnType<StateStore['get']>
}

type Listed = Versioned & { readonly id: string }

async function listRecords(parts: ListParts, space: string, query: StateQuery): Promise<Page<Listed>> {
  const limit = pageLimit(query.limit)
  const heads = await headsOf(parts, space, query, limit + 1)
  const { items, next } = pageOf(heads, limit, (last) => last.id)
  if (items.length === 0) return { items: [] }
  const texts = textsOf(
    await parts.calls.run(
      scripts.values,
      items.map(({ id }) => parts.keys.value(space, id)),
      [],
    ),
  )
  const records: Listed[] = []
  for (const [place, head] of items.entries()) {
    const record = withValue(head, texts[place]) ?? (await readAgain(parts, head.id))
    if (record) records.push(record)
  }
  return { items: records, ...(next !== undefined && { next }) }
}

type Head = Omit<Listed, 'value'>

/** Returns the records of a page without their values. The server scans a part of the space per request. */
async function headsOf(
  { calls, keys, time }: ListParts,
  space: string,
  { prefix = '', page = '' }: StateQuery,
  wanted: number,
): Promise<readonly Head[]> {
  const end = behindPrefix(prefix)
  const highest = end === undefined ? '+' : `(${end}`
  let lowest = page !== '' && compareIds(page, prefix) >= 0 ? `(${page}` : `[${prefix}`
  const heads: Head[] = []
  for (;;) {
    const [more = '', ...fields] = await calls.read(
      scripts.list,
      [keys.records(space), keys.ids(space)],
      [time(), lowest, highest, String(wanted - heads.length)],
    )
    for (let place = 0; place < fields.length; place += 4) heads.push(headOf(fields.slice(place, place + 4)))
    if (more === '' || heads.length >= wanted) return heads
    lowest = `(${more}`
  }
}

function headOf([id = '', version = '', usedAt = '', expiresAt = '']: readonly string[]): Head {
  return { id, version: Number(version), usedAt: Number(usedAt), expiresAt: expiryOf(expiresAt) }
}

/** Adds the value. Undefined if the record was changed or removed since. */
function withValue(head: Head, text: string | null | undefined): Listed | undefined {
  if (text == null) return undefined
  const { version, value } = valueOf(text)
  return version === head.version ? { ...head, value } : undefined
}

async function readAgain({ read }: ListParts, id: string): Promise<Listed | undefined> {
  const found = await read(id)
  return found.status === 'found' ? { id, ...found.value } : undefined
}

const sweepStep = 1_000

async function sweepSpace(calls: ScriptCalls, keys: readonly string[], time: () => string, limit: number): Promise<number> {
  let swept = 0
  while (swept < limit) {
    const most = Math.min(sweepStep, limit - swept)
    // Sent once: after a lost answer, the number of removed records is unknown.
    const [count] = replyOf(await calls.run(scripts.sweep, keys, [time(), String(most)], 1))
    swept += Number(count)
    if (Number(count) < most) break
  }
  return swept
}
