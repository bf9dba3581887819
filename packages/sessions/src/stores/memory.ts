import { systemClock } from '@bowline/llm'
import type { Clock } from '@bowline/llm'
import { SessionError } from '../errors.ts'
import { memoryStateStore } from '../state/memory-state-store.ts'
import type { StateStore } from '../state/contract.ts'
import type { SessionStore, StoreOpenOptions } from '../store/contract.ts'
import type { EntryRecord, RunRecord, ToolCallRecord } from '../store/records.ts'
import { checkJson, copyJson } from './json.ts'
import { forwardedState } from './forwarded-state.ts'
import { claimRuns } from './memory/claim.ts'
import { commitBatch } from './memory/commit.ts'
import { entryOf, filledIn, replaceOpenRun, wholeEntry } from './memory/held-session.ts'
import type { HeldSession, Space } from './memory/held-session.ts'
import { pageLimit, pageOf, parseRunPosition, parseSessionPosition, printSessionPosition } from './paging.ts'
import { wholeEvent } from './rules.ts'

/** Keeps sessions as long as the process lives. For tests and scripts, and the reference for what other stores must do. */
export interface MemoryStore extends SessionStore {
  /** Another store over the same memory, for a runtime with another namespace. */
  second(): MemoryStore
}

export function memoryStore(): MemoryStore {
  return storeOver({ spaces: new Map(), states: new Map(), openStores: 0, clock: systemClock })
}

interface Memory {
  readonly spaces: Map<string, Space>
  /** By namespace. */
  readonly states: Map<string, StateStore>
  openStores: number
  /** Of the store that opened it first: leases are compared by this one alone. */
  clock: Clock
}

function storeOver(memory: Memory): MemoryStore {
  let opened: StoreOpenOptions | undefined
  let timesOpened = 0

  function space(): Space {
    if (!opened) throw new SessionError('store-unavailable', 'The memory store is not open')
    let found = memory.spaces.get(opened.namespace)
    if (!found) memory.spaces.set(opened.namespace, (found = { sessions: new Map(), sessionOfRun: new Map() }))
    return found
  }
  function state(): StateStore {
    if (!opened) throw new SessionError('store-unavailable', 'The memory store is not open')
    const found = memory.states.get(opened.namespace) ?? memoryStateStore({ clock: { now: () => memory.clock.now() } })
    memory.states.set(opened.namespace, found)
    return found
  }
  const now = (): number => memory.clock.now()
  const session = (key: string): HeldSession | undefined => space().sessions.get(key)
  const runOf = (runId: string): RunRecord | undefined => space().sessionOfRun.get(runId)?.runs.get(runId)

  return {
    name: 'memory',
    capabilities: { durable: 'none', processes: 'one', maxRecordBytes: Number.MAX_SAFE_INTEGER },
    second: () => storeOver(memory),

    async open(options) {
      if (opened && opened.namespace !== options.namespace) {
        throw new SessionError('invalid-config', 'This memory store is open for another namespace; use its second()')
      }
      opened = options
      timesOpened += 1
      if (memory.openStores === 0) memory.clock = options.clock
      memory.openStores += 1
    },
    async close() {
      if (timesOpened === 0) return
      timesOpened -= 1
      memory.openStores -= 1
      if (timesOpened === 0) opened = undefined
    },
    async commit(batch) {
      checkJson(batch, 'batch')
      return commitBatch(space(), copyJson(batch), now())
    },
    async claim(request) {
      return copyJson(claimRuns(space(), request, now()))
    },
    async renew(leases, leaseMs) {
      return leases.map(({ runId, epoch }) => {
        const held = space().sessionOfRun.get(runId)
        const run = held?.runs.get(runId)
        if (!held || run?.status !== 'running' || run.epoch !== epoch) return { runId, held: false }
        replaceOpenRun(held, { ...run, leaseUntil: now() + leaseMs })
        return run.stop ? { runId, held: true, stopping: copyJson(run.stop) } : { runId, held: true }
      })
    },
    async readSession(key) {
      return found(session(key)?.record)
    },
    async readPath(key, { leaf, before, limit } = {}) {
      const held = session(key)
      if (!held) return { items: [] }
      const start = before === undefined ? (leaf === undefined ? held.record.leaf : leaf) : entryOf(held, before).parentId
      const most = pageLimit(limit)
      const items: EntryRecord[] = []
      for (let id = start; id !== null && items.length <= most; id = entryOf(held, id).parentId) {
        items.push(copyJson(wholeEntry(held, entryOf(held, id))))
      }
      return pageOf(items, most, (last) => last.id)
    },
    async readEvents(key, after, limit) {
      const held = session(key)
      if (!held) return { events: [], firstSeq: 1, lastSeq: 0 }
      const { firstSeq, nextSeq } = held.record
      const events = []
      for (let seq = Math.max(after + 1, firstSeq); seq < nextSeq && events.length < limit; seq++) {
        const stored = held.events.get(seq)
        if (stored) events.push(copyJson(wholeEvent(stored.event, seq, filledIn(held, stored.refers))))
      }
      return { events, firstSeq, lastSeq: nextSeq - 1 }
    },
    async readRun(runId) {
      return found(runOf(runId))
    },
    async readCalls(runId, step) {
      const calls = [...(space().sessionOfRun.get(runId)?.calls.get(runId)?.values() ?? [])]
      const wanted = calls.filter((call) => step === undefined || call.step === step)
      return copyJson(wanted.sort((a, b) => a.step - b.step || a.index - b.index))
    },
    async readCall(key, toolCallId) {
      const held = session(key)
      const calls = [...(held?.calls.values() ?? [])].flatMap((ofRun) => [...ofRun.values()])
      const turnOf = (call: ToolCallRecord): number => held?.runs.get(call.runId)?.n ?? 0
      const same = calls.filter((call) => call.toolCallId === toolCallId)
      return found(same.sort((a, b) => turnOf(a) - turnOf(b) || a.step - b.step).at(-1))
    },
    async readApproval(key, approvalId) {
      const calls = [...(session(key)?.calls.values() ?? [])].flatMap((ofRun) => [...ofRun.values()])
      return found(calls.find((call) => call.approval?.approvalId === approvalId))
    },
    async readInbox(key, kinds) {
      return copyJson([...(session(key)?.inbox.values() ?? [])].filter((row) => kinds.includes(row.kind)))
    },
    async listSessions({ agent, status, keyPrefix = '', limit, page }) {
      const after = page === undefined ? undefined : parseSessionPosition(page)
      const most = pageLimit(limit)
      const sessions = [...space().sessions.values()]
        .map((held) => held.record)
        .filter((record) => agent === undefined || record.agent === agent)
        .filter((record) => status === undefined || record.status === status)
        .filter((record) => record.key.startsWith(keyPrefix))
        .filter((record) => after === undefined || byActivity(after, record) < 0)
        .sort(byActivity)
      return pageOf(copyJson(sessions.slice(0, most + 1)), most, printSessionPosition)
    },
    async listRuns(key, { status, newestFirst = false, limit, page } = {}) {
      const order = newestFirst ? -1 : 1
      const after = page === undefined ? undefined : parseRunPosition(page)
      const most = pageLimit(limit)
      const runs = [...(session(key)?.runs.values() ?? [])]
        .filter((run) => after === undefined || order * (run.n - after) > 0)
        .filter((run) => status === undefined || status.includes(run.status))
        .sort((a, b) => order * (a.n - b.n))
      return pageOf(copyJson(runs.slice(0, most + 1)), most, (last) => String(last.n))
    },
    state: forwardedState(state),
  }
}

function found<T>(value: T | undefined): { status: 'found'; value: T } | { status: 'missing' } {
  return value === undefined ? { status: 'missing' } : { status: 'found', value: copyJson(value) }
}

function byActivity(a: { activeAt: number; key: string }, b: { activeAt: number; key: string }): number {
  return b.activeAt - a.activeAt || (a.key < b.key ? -1 : Number(a.key > b.key))
}
