import type { TurnStatus } from '@bowline/agent-loop'
import type { CommitRefusal, Expect } from '../../../src/contract/batch.ts'
import type { InboxKind, Lane, RunKind, RunStatus, Status } from '../../../src/contract/records.ts'

/** One call of a process and its answer. Contains ids, numbers and statuses, but no messages, inputs, outcomes or state values. */
export interface HistoryOperation {
  /** Name of the process and number of its call: `a#7`. */
  readonly id: string
  readonly process: string
  readonly namespace: string
  readonly calledAt: number
  /** Infinity: no answer came. The call was never executed, or is executed at any time after it was made. */
  readonly returnedAt: number
  readonly call: HistoryCall
  /** Absent if there was no answer, or an error. */
  readonly answer?: HistoryAnswer
}

/** Operations of all processes, in the order of their calls. */
export type History = readonly HistoryOperation[]

/** Recorded calls and their answers. */
interface Recorded {
  readonly commit: { readonly call: { readonly batch: BatchFacts }; readonly answer: CommitFacts }
  readonly claim: { readonly call: { readonly runId?: string }; readonly answer: { readonly claims: readonly ClaimFacts[] } }
  readonly renew: {
    readonly call: { readonly leases: readonly { readonly runId: string; readonly epoch: number }[] }
    readonly answer: { readonly states: readonly LeaseFacts[] }
  }
  readonly prune: { readonly call: object; readonly answer: { readonly changed: boolean } }
  readonly readSession: { readonly call: OfSession; readonly answer: SessionFacts }
  readonly readRun: { readonly call: { readonly runId: string }; readonly answer: { readonly run: RunFacts | null } }
  readonly listRuns: {
    readonly call: OfSession & { readonly status?: readonly RunStatus[]; readonly page?: string }
    readonly answer: { readonly runs: readonly RunFacts[]; readonly isWhole: boolean }
  }
  readonly readCalls: {
    readonly call: { readonly runId: string; readonly step?: number }
    readonly answer: { readonly calls: readonly CallFacts[] }
  }
  readonly readInbox: {
    readonly call: OfSession & { readonly kinds: readonly InboxKind[] }
    readonly answer: { readonly ids: readonly string[] }
  }
  readonly readPath: {
    readonly call: OfSession & { readonly leaf?: string | null; readonly before?: string }
    readonly answer: { readonly ids: readonly string[]; readonly isWhole: boolean }
  }
  readonly readEvents: { readonly call: OfSession & { readonly after: number; readonly limit: number }; readonly answer: EventPageFacts }
  /** An input: `send`, `steer` or `followUp`. */
  readonly send: {
    readonly call: OfSession & { readonly inputId?: string }
    readonly answer: { readonly runId: string; readonly accepted: string }
  }
  /** `stop` or `kill`. */
  readonly stop: { readonly call: OfSession; readonly answer: { readonly runId: string | null; readonly state: string } }
  readonly result: { readonly call: OfSession & { readonly runId: string }; readonly answer: { readonly status: RunStatus } }
  readonly info: {
    readonly call: OfSession
    readonly answer: { readonly session: { readonly version: number; readonly leaf: string | null; readonly lastSeq: number } | null }
  }
  readonly messages: {
    readonly call: OfSession
    readonly answer: { readonly ids: readonly string[]; readonly lastSeq: number; readonly isWhole: boolean }
  }
  readonly runs: {
    readonly call: OfSession & { readonly status?: readonly Status[] }
    readonly answer: { readonly runs: readonly { readonly id: string; readonly status: Status }[]; readonly isWhole: boolean }
  }
  /** A read of the log up to its present end. */
  readonly events: { readonly call: OfSession; readonly answer: { readonly lastSeq: number | null } }
  /** An event that reached a reader. */
  readonly event: { readonly call: OfSession; readonly answer: EventFacts }
}

export type HistoryCall = { readonly [What in keyof Recorded]: { readonly what: What } & Recorded[What]['call'] }[keyof Recorded]
export type HistoryAnswer = Recorded[keyof Recorded]['answer']
export type CallOf<What extends keyof Recorded> = Extract<HistoryCall, { readonly what: What }>
export type AnswerOf<What extends keyof Recorded> = Recorded[What]['answer']
export type HistoryWhat = keyof Recorded

interface OfSession {
  readonly key: string
}

export interface BatchFacts {
  readonly id: string
  readonly key: string
  readonly expect: readonly Expect[]
  readonly writes: readonly WriteFacts[]
  readonly deliver?: readonly DeliveryFacts[]
}

export interface DeliveryFacts {
  readonly id: string
  readonly to: string
  readonly when?: readonly Expect[]
  readonly writes: readonly WriteFacts[]
}

/** Facts of a write that the model needs. Definitions and timers are not included. */
export type WriteFacts =
  | { readonly op: 'session.ensure'; readonly id: string; readonly owned?: true }
  | { readonly op: 'session.delete'; readonly leavesNothing?: true }
  | { readonly op: 'leaf'; readonly leaf: string | null }
  | {
      readonly op: 'entry.append'
      readonly entries: readonly { readonly id: string; readonly parentId: string | null; readonly isMessage: boolean }[]
    }
  | { readonly op: 'event.append'; readonly events: readonly Omit<EventFacts, 'seq'>[] }
  | {
      readonly op: 'run.insert'
      readonly id: string
      readonly kind: RunKind
      readonly lane?: Lane
      readonly inputId?: string
      readonly parent?: string
    }
  | {
      readonly op: 'run.patch'
      readonly runId: string
      readonly status?: RunStatus
      readonly stop?: true
      readonly rest?: TurnStatus | null
    }
  | { readonly op: 'call.put'; readonly calls: readonly (CallFacts & { readonly runId: string })[] }
  | { readonly op: 'inbox.put'; readonly rows: readonly InboxFacts[] }
  | { readonly op: 'inbox.patch'; readonly rows: readonly InboxFacts[] }
  | { readonly op: 'inbox.take'; readonly ids: readonly string[] }

export interface InboxFacts {
  readonly id: string
  readonly kind: InboxKind
  readonly inputId?: string
}

export interface EventFacts {
  readonly seq: number
  readonly type: string
  readonly runId?: string
  /** Id of the message or the call of the event. */
  readonly of?: string
  /** Status of a `turn-end`. */
  readonly status?: string
  /** Set for a resumed `turn-start`. */
  readonly resumed?: true
}

export interface CallFacts {
  readonly step: number
  readonly toolCallId: string
  readonly state: string
}

export type CommitFacts =
  | {
      readonly ok: true
      readonly sessionId: string
      readonly version: number
      readonly firstSeq: number
      readonly lastSeq: number
      readonly existing?: string
    }
  | { readonly ok: false; readonly reason: CommitRefusal }

export interface ClaimFacts {
  readonly key: string
  readonly runId: string
  readonly epoch: number
  readonly version: number
  readonly previous: 'queued' | 'running'
  readonly stop?: true
  /** Ids of the inbox rows in the claim. */
  readonly inbox: readonly string[]
}

export interface LeaseFacts {
  readonly runId: string
  readonly held: boolean
  readonly stop?: true
}

export type SessionFacts =
  | { readonly status: 'missing' | 'deleted' }
  | {
      readonly status: 'found' | 'expired'
      readonly id: string
      readonly version: number
      readonly nextSeq: number
      readonly leaf: string | null
    }

export interface RunFacts {
  readonly id: string
  readonly key: string
  readonly status: RunStatus
  readonly epoch: number
  readonly stop?: true
}

export interface EventPageFacts {
  readonly firstSeq: number
  readonly lastSeq: number
  readonly sessionId?: string
  readonly events: readonly EventFacts[]
}
