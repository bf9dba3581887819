import type { TurnStatus } from '@bowline/agent-loop'
import type { CommitFacts, EventFacts } from './operations.ts'
import {
  holdingStatuses,
  terminalStatuses,
  type InboxKind,
  type Lane,
  type RunKind,
  type RunStatus,
  type TerminalStatus,
} from '../../../src/contract/records.ts'
import { Tracked, TrackedMap } from './tracked.ts'

/** Rule that a history breaks. */
export type HistoryRule =
  /** A read returns everything acknowledged before it began, and nothing that was not stored. */
  | 'read'
  /** Versions rise by one with each commit: no commit is lost or applied twice. */
  | 'version'
  /** Events are numbered without gaps. */
  | 'seq'
  /** The expectations of a commit hold when it is applied. */
  | 'expectation'
  /** Writes under an epoch stop when the next epoch is claimed. */
  | 'fence'
  /** Each epoch has one writer: the process that claimed it. */
  | 'one-writer'
  /** A claim raises the epoch by one. */
  | 'epoch'
  /** A claim takes the first open run, and never one that waits. */
  | 'claim'
  /** Nothing starts after a stop request is stored. */
  | 'stop'
  /** An input is accepted, begun and answered once. */
  | 'answered-once'
  /** An accepted input is stored. At rest it is answered, or waits. */
  | 'lost-input'
  /** Records change as the store contract says. */
  | 'write'

export interface Contradiction {
  readonly rule: HistoryRule
  /** The fault of an operation, without its id: `returns version 5, expected 6`. For the end of a history it is a whole sentence. */
  readonly text: string
  /** The operation that caused the contradicted state. */
  readonly since?: string | undefined
}

/** Status of a run in the model. The model does not distinguish what a run waits for. */
export type ModelStatus = 'queued' | 'running' | 'waiting' | 'needs-recovery' | TerminalStatus

export interface ModelRecord {
  /** Null if there is no session. */
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
  /** Process of the last claim. */
  readonly owner?: string
  /** Operation of the last claim. */
  readonly claimedIn?: string
  readonly hasBegun?: true
  readonly hasEnded?: true
  /** Status of its `turn-end`, while it stores records after that. */
  readonly rest?: TurnStatus | undefined
  readonly stop?: true
  /** Operation that stored the stop request. */
  readonly stoppedIn?: string
  /** Set when the owner knows of the stop request. */
  readonly isTold?: true
  /** Set if something of the run started after the stop request. This is allowed once, at the boundary where the owner learned of it. */
  readonly startedStopped?: true
}

const oneSession = 'session'
const noSession: ModelRecord = { id: null, isDeleted: false, isOwned: false, version: 0, firstSeq: 1, nextSeq: 1, nextRun: 1, leaf: null }
const holding: ReadonlySet<string> = new Set<string>(['waiting', ...holdingStatuses])
const terminal: ReadonlySet<string> = new Set<string>(terminalStatuses)

export function modelStatus(status: RunStatus): ModelStatus {
  return status === 'awaiting-tools' || status === 'awaiting-approval' || status === 'awaiting-subagent' ? 'waiting' : status
}

export function isTerminal(status: string | undefined): status is TerminalStatus {
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

/** Model of one session as the store contract describes it, without times, contents and limits. */
export class SessionModel {
  /** Id of the operation that is being applied. */
  operation = ''
  readonly tracked = new Tracked()
  readonly runs = new TrackedMap<ModelRun>(this.tracked, 'run', ({ status, rest, place, epoch, owner, stop, isTold, startedStopped }) =>
    [status, rest, place, epoch, owner, stop, isTold, startedStopped].join(' '),
  )
  readonly openRuns = new TrackedMap<true>(this.tracked, 'open', byItself)
  /** Run id by input id. */
  readonly inputs = new TrackedMap<string>(this.tracked, 'input', byItself)
  readonly inbox = new TrackedMap<ModelInbox>(this.tracked, 'inbox', ({ kind }) => kind)
  readonly entries = new TrackedMap<ModelEntry>(this.tracked, 'entry', ({ parentId }) => `${parentId}`)
  readonly events = new TrackedMap<Omit<EventFacts, 'seq'>>(this.tracked, 'event', ({ type, runId, of }) => [type, runId, of].join(' '))
  /** State of each call, by its key. */
  readonly calls = new TrackedMap<string>(this.tracked, 'call', byItself)
  readonly openCalls = new TrackedMap<true>(this.tracked, 'open call', byItself)
  /** Answer by id of the applied batch. */
  readonly applied = new TrackedMap<AppliedBatch>(this.tracked, 'applied', ({ version }) => `${version}`)
  /** The id of the last batch of the session (under '') and of each run. */
  readonly lastBatch = new TrackedMap<string>(this.tracked, 'last batch', byItself)
  /** Ids of the deliveries received, applied or dropped. */
  readonly delivered = new TrackedMap<true>(this.tracked, 'delivered', byItself)
  readonly #records = new TrackedMap<ModelRecord>(this.tracked, 'record', ({ id, isDeleted, version, nextSeq, nextRun, leaf }) =>
    [id, isDeleted, version, nextSeq, nextRun, leaf].join(' '),
  )
  readonly #pruned = new TrackedMap<true>(this.tracked, 'pruned', byItself)

  get record(): ModelRecord {
    return this.#records.get(oneSession) ?? noSession
  }

  /** True if ended runs, their events and their inputs may have been deleted. */
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

  /** Removes all records of the session. Keeps its events, because readers may still hold them. */
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

  /** Returns the run that holds the session, else the next one in the queue. */
  first(): ModelRun | undefined {
    const open = this.open()
    return open.find(({ status }) => isHolding(status)) ?? open.toSorted((a, b) => a.place - b.place)[0]
  }

  /** Describes the state of the session in words. */
  describe(): string {
    const { id, isDeleted, version, nextSeq, leaf } = this.record
    if (id === null) return isDeleted ? 'the session is deleted' : 'there is no session'
    const runs = this.open().map(
      ({ id: runId, status, epoch, owner, stop }) =>
        `${runId} is ${status} with epoch ${epoch}${owner === undefined ? '' : ` of ${owner}`}${stop ? ' and a stop request' : ''}`,
    )
    const what = `version ${version}, last event ${nextSeq - 1}, leaf ${leaf ?? 'none'}`
    return [what, ...(runs.length > 0 ? runs : ['no run is open'])].join('; ')
  }
}

const laneOfKind: Readonly<Partial<Record<RunKind, Lane>>> = { compaction: 'compaction', 'follow-up': 'follow-up' }
const lanes: readonly Lane[] = ['compaction', 'interrupt', 'follow-up', 'queue']
const placesPerLane = 2 ** 40
/** Place of a run that is queued again after its turn has begun. */
export const firstPlace = 0

/** Returns the place in the queue. Among interrupts the newest is first, in other lanes the oldest. */
export function placeOf(kind: RunKind, lane: Lane = laneOfKind[kind] ?? 'queue', n: number): number {
  const place = lanes.indexOf(lane) * placesPerLane
  return lane === 'interrupt' ? place + placesPerLane - n : place + n
}
