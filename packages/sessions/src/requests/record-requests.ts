import { defineExtension, type Extension } from '@bowline/agent-loop'
import { systemClock, type Clock } from '@bowline/llm'
import type { FieldChecks } from '@bowline/llm/arguments'
import { configChecks, inputChecks } from '../arguments.ts'
import { checkPageRequest } from '../contract/check-query.ts'
import { checkPlace, checkTimeToLive } from '../contract/check-state.ts'
import type { Page, PageRequest } from '../contract/paging.ts'
import type { TimeToLive, Versioned } from '../contract/state-store.ts'
import { checkJson } from '../json.ts'
import { checkAnyKey } from '../keys.ts'
import { stateStoreOf } from '../state/state-store-of.ts'
import { numberOf, prefixOf, RequestLog, type RequestLogOptions, type RequestRow } from './request-log.ts'
import type { RecordedRequest, RecordRequestsOptions, RequestRecorder, RequestSummary } from './types.ts'

const leastBytes = 16 * 1_024

const optionsFields: FieldChecks<RecordRequestsOptions> = {
  // Checked by `stateStoreOf`.
  store: () => undefined,
  namespace: configChecks.optionalName,
  maxRequests: configChecks.whole(2),
  maxBytes: configChecks.whole(leastBytes),
  ttlMs: configChecks.optional((path, value) => checkTimeToLive(value as TimeToLive, path)),
  redact: configChecks.checkFunction,
  clock: configChecks.methods('now'),
}
const checkOptions = configChecks.record<RecordRequestsOptions>(optionsFields)

/**
 * Creates a recorder of the requests that models receive. Give its `extension` to the agents, and the recorder to
 * `createRuntime` and `createServer` as `requests`. A request is stored before it is sent. Throws `invalid-config`.
 */
export function recordRequests(options: RecordRequestsOptions): RequestRecorder {
  checkOptions('recordRequests.options', options)
  const {
    namespace: space = 'model-requests',
    maxRequests = 200,
    maxBytes = 4 * 1_024 * 1_024,
    ttlMs = 30 * 86_400_000,
    redact,
    clock = systemClock,
  } = options
  checkPlace(space, 'any')
  const store = stateStoreOf(options.store)
  return new Recorder(
    { store, space, maxRequests, maxBytes, ttlMs, redact: redact ? (message) => redacted(redact(message)) : (message) => message },
    clock,
  )
}

function redacted<T>(message: T): T {
  inputChecks.checkObject('what redact returns', message)
  checkJson(message, 'what redact returns')
  return message
}

/** Number of sessions whose last request a process remembers. */
const mostLogs = 100
/** Timeout in ms of the extension hook, so that a store that does not answer delays no call for longer. */
const hookTimeoutMs = 2_000

class Recorder implements RequestRecorder {
  readonly extension: Extension
  readonly #options: RequestLogOptions
  /** Least recently used first. */
  readonly #logs = new Map<string, RequestLog>()

  constructor(options: RequestLogOptions, clock: Pick<Clock, 'now'>) {
    this.#options = options
    this.extension = defineExtension({
      name: 'requests',
      timeoutMs: hookTimeoutMs,
      hooks: {
        onModelRequest: async (sent, context) => {
          if (context.sessionKey !== undefined) await this.#logOf(context.sessionKey).add(sent, context, clock.now())
        },
      },
    })
  }

  async list(sessionKey: string, query: PageRequest = {}): Promise<Page<RequestSummary>> {
    checkAnyKey(sessionKey)
    checkPageRequest('list.options', query)
    const { store, space } = this.#options
    const { items, next } = await store.list(space, { ...query, prefix: prefixOf(sessionKey) })
    return { items: items.map(({ value }) => summaryOf(value as unknown as RequestRow)), ...(next !== undefined && { next }) }
  }

  async get(sessionKey: string, id: string): Promise<RecordedRequest | null> {
    checkAnyKey(sessionKey)
    inputChecks.checkName('id', id)
    const rows: { readonly n: number; readonly row: RequestRow }[] = []
    for await (const { id: place, value } of this.#rows(sessionKey)) {
      const row = value as unknown as RequestRow
      const n = numberOf(sessionKey, place)
      const [newest] = rows
      if (newest ? isBase(rows.at(-1)?.row, n, row.id) : row.id === id) rows.push({ n, row })
      if (rows.length > 0 && rows.at(-1)?.row.base === undefined) return wholeOf(rows.map((each) => each.row))
    }
    return null
  }

  async remove(sessionKey: string): Promise<void> {
    checkAnyKey(sessionKey)
    this.#logs.delete(sessionKey)
    for await (const { id } of this.#rows(sessionKey)) await this.#options.store.delete(this.#options.space, id)
  }

  /** Newest first. */
  async *#rows(sessionKey: string): AsyncGenerator<Versioned & { readonly id: string }> {
    const { store, space } = this.#options
    let page: string | undefined
    do {
      const found = await store.list(space, { prefix: prefixOf(sessionKey), ...(page !== undefined && { page }) })
      yield* found.items
      page = found.next
    } while (page !== undefined)
  }

  #logOf(key: string): RequestLog {
    const log = this.#logs.get(key) ?? new RequestLog(key, this.#options)
    this.#logs.delete(key)
    this.#logs.set(key, log)
    const [oldest] = this.#logs.keys()
    if (this.#logs.size > mostLogs && oldest !== undefined) this.#logs.delete(oldest)
    return log
  }
}

function isBase(row: RequestRow | undefined, n: number, id: string): boolean {
  return row?.base === n && row.baseId === id
}

function summaryOf({
  base: _base,
  baseId: _baseId,
  shared: _shared,
  messages: _messages,
  tools: _tools,
  settings: _settings,
  omitted: _omitted,
  ...summary
}: RequestRow): RequestSummary {
  return summary
}

/** Rebuilds a request from the chain that leads back to the whole one it builds on. */
function wholeOf(chain: readonly RequestRow[]): RecordedRequest | null {
  const [wanted] = chain
  if (!wanted) return null
  const built = chain.reduceRight<Pick<RecordedRequest, 'prompt' | 'tools' | 'settings'>>(
    (before, { shared, messages, tools = before.tools, settings = before.settings }) => ({
      prompt: [...before.prompt.slice(0, shared), ...messages],
      tools,
      settings,
    }),
    { prompt: [], tools: [], settings: {} },
  )
  return { ...summaryOf(wanted), ...built, ...(wanted.omitted && { omitted: true }) }
}
