import type { CommitFacts, EventFacts } from './operations.ts'
import { holdingStatuses, terminalStatuses, type InboxKind, type Lane, type RunKind, type RunStatus, type TerminalStatus } from '../../contract/records.ts'
import { Tracked, TrackedMap } from './tracked.ts'

/** Rule about sessions that a history contradicts. */
export type HistoryRule =
  /** A read shows what was acknowledged before it began, and nothing that was not stored. */
  | 'read'
  /** Versions rise by one with each commit: none is lost, none is applied twice. */
  | 'version'
  /** Events are numbered without gaps. */
  | 'seq'
  /** What a commit expects holds when it is applied. */
  | 'expectation'
  /** Writes under an epoch end with the claim of the next one. */
  | 'fence'
  /** Each epoch has one writer: the process that claimed it. */
  | 'one-writer'
  /** A claim raises the epoch by one. */
  | 'epoch'
  /** A claim takes the first open run, and none that waits. */
  | 'claim'
  /** Nothing starts after a stop request is stored. */
  | 'stop'
  /** An input is accepted once, begun once and answered once. */
  | 'answered-once'
  /** An accepted input is stored, and at rest it is answered or waits. */
  | 'lost-input'
  /** Records change as the contract of the store says. */
  | 'write'

export interface Contradiction {
  readonly rule: HistoryRule
  readonly text: string
  /** The operation that made it so. */
  readonly since?: string | undefined
}

/** Calls and approvals that a run waits for are no part of the model: all that wait are alike. */
export type ModelStatus = 'queued' | 'running' | 'waiting' | 'needs-recovery' | TerminalStatus

export interface ModelRecord {
  /** Null: there is no session. */
  readonly id: string | null
  readonly isDeleted: boolean
  readonly isOwned: boolean
  readonly version: number
  readonly firstSeq: number
  readonly nextSeq: number
  readonly nextRun: number
  readonly leaf: string | null
}

export interface ModelRun {
  readonly id: string
  readonly kind: RunKind
  readonly place: number
  readonly status: ModelStatus
  readonly epoch: number
  /** The process that claimed it last. */
  readonly owner?: string
  /** The operation with which it did so. */
  readonly claimedIn?: string
  readonly hasBegun?: true
  readonly hasEnded?: true
  readonly stop?: true
  /** The operation that stored the stop request. */
  readonly stoppedIn?: string
  /** Its owner was told of the stop request. */
  readonly isTold?: true
  /** Something of it started although a stop request was stored: the boundary at which its owner was told. */
  readonly startedStopped?: true
}

const oneSession = 'session'
const noSession: ModelRecord = { id: null, isDeleted: false, isOwned: false, version: 0, firstSeq: 1, nextSeq: 1, nextRun: 1, leaf: null }
const holding: ReadonlySet<string> = new Set<string>(['waiting', ...holdingStatuses])
const terminal: ReadonlySet<string> = new Set<string>(terminalStatuses)

export function modelStatus(status: RunStatus): ModelStatus {
  return status === 'awaiting-tools' || status === 'awaiting-approval' || status === 'awaiting-subagent' ? 'waiting' : status
}

export function isTerminal(status: string | undefined): boolean {
  return status !== undefined && terminal.has(status)
}

export function isHolding(status: ModelStatus): boolean {
  return holding.has(status)
}

interface ModelInbox {
  readonly kind: InboxKind
  readonly inputId?: string
}

interface ModelEntry {
  readonly parentId: string | null
  readonly isMessage: boolean
}

type AppliedBatch = Extract<CommitFacts, { ok: true }>

const byItself = (value: string | true): string => String(value)

/** One session as the contract describes it, without times, contents and limits. */
export class SessionModel {
  /** What is applied at the moment. */
  operation = ''
  readonly tracked = new Tracked()
  readonly runs = new TrackedMap<ModelRun>(this.tracked, 'run', ({ status, place, epoch, owner, stop, isTold, startedStopped }) => [status, place, epoch, owner, stop, isTold, startedStopped].join(' '))
  readonly openRuns = new TrackedMap<true>(this.tracked, 'open', byItself)
  /** The run of each input id. */
  readonly inputs = new TrackedMap<string>(this.tracked, 'input', byItself)
  readonly inbox = new TrackedMap<ModelInbox>(this.tracked, 'inbox', ({ kind }) => kind)
  readonly entries = new TrackedMap<ModelEntry>(this.tracked, 'entry', ({ parentId }) => `${parentId}`)
  readonly events = new TrackedMap<Omit<EventFacts, 'seq'>>(this.tracked, 'event', ({ type, runId, of }) => [type, runId, of].join(' '))
  /** The state of each call. */
  readonly calls = new TrackedMap<string>(this.tracked, 'call', byItself)
  readonly openCalls = new TrackedMap<true>(this.tracked, 'open call', byItself)
  /** The answer to each batch that was applied. */
  readonly applied = new TrackedMap<AppliedBatch>(this.tracked, 'applied', ({ version }) => `${version}`)
  /** The id of the last batch of the session (under '') and of each run. */
  readonly lastBatch = new TrackedMap<string>(this.tracked, 'last batch', byItself)
  /** Ids of deliveries that came, applied or dropped. */
  readonly delivered = new TrackedMap<true>(this.tracked, 'delivered', byItself)
  readonly #records = new TrackedMap<ModelRecord>(this.tracked, 'record', ({ id, isDeleted, version, nextSeq, nextRun, leaf }) => [id, isDeleted, version, nextSeq, nextRun, leaf].join(' '))
  readonly #pruned = new TrackedMap<true>(this.tracked, 'pruned', byItself)

  get record(): ModelRecord {
    return this.#records.get(oneSession) ?? noSession
  }

  /** Runs that have ended, their events and their inputs may be gone. */
  get isPruned(): boolean {
    return this.#pruned.size > 0
  }

  prune(): void {
    this.#pruned.put(oneSession, true)
  }

  patchRecord(patch: Partial<ModelRecord>): void {
    this.#records.put(oneSession, { ...this.record, ...patch })
  }

  setRun(run: ModelRun): void {
    this.runs.put(run.id, run)
    if (isTerminal(run.status) !== !this.openRuns.has(run.id)) this.openRuns.put(run.id, isTerminal(run.status) ? undefined : true)
  }

  patchRun(run: ModelRun, patch: Partial<ModelRun>): void {
    this.setRun({ ...run, ...patch })
  }

  /** Takes away everything that belongs to the session. Its events stay: readers may have them in their hands. */
  forget(numbers: Partial<ModelRecord>): void {
    const { runs, openRuns, inputs, inbox, entries, calls, openCalls, applied, lastBatch } = this
    for (const map of [runs, openRuns, inputs, inbox, entries, calls, openCalls, applied, lastBatch]) {
      for (const key of [...map.keys()]) map.put(key, undefined)
    }
    this.#records.put(oneSession, { ...noSession, ...numbers })
  }

  open(): readonly ModelRun[] {
    return [...this.openRuns.keys()].flatMap((id) => this.runs.get(id) ?? [])
  }

  /** The run that holds the session, else the next one of its queue. */
  first(): ModelRun | undefined {
    const open = this.open()
    return open.find(({ status }) => isHolding(status)) ?? open.toSorted((a, b) => a.place - b.place)[0]
  }

  /** Says in words how the session stands. */
  describe(): string {
    const { id, isDeleted, version, nextSeq, leaf } = this.record
    if (id === null) return isDeleted ? 'the session is deleted' : 'there is no session'
    const runs = this.open().map(({ id: runId, status, epoch, owner, stop }) => `${runId} is ${status}, epoch ${epoch}${owner === undefined ? '' : ` of ${owner}`}${stop ? ', to be stopped' : ''}`)
    const what = `version ${version}, last event ${nextSeq - 1}, leaf ${leaf ?? 'none'}`
    return [what, ...(runs.length > 0 ? runs : ['no run is open'])].join('; ')
  }
}

const laneOfKind: Readonly<Partial<Record<RunKind, Lane>>> = { compaction: 'compaction', 'follow-up': 'follow-up' }
const lanes: readonly Lane[] = ['compaction', 'interrupt', 'follow-up', 'queue']
const placesPerLane = 2 ** 40
/** Of the run that has begun and went back into the queue. */
export const firstPlace = 0

/** The newest interrupt goes first, of all others the oldest. */
export function placeOf(kind: RunKind, lane: Lane = laneOfKind[kind] ?? 'queue', n: number): number {
  const place = lanes.indexOf(lane) * placesPerLane
  return lane === 'interrupt' ? place + placesPerLane - n : place + n
}
