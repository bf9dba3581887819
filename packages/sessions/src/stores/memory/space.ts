import type { JSONObject } from '@bowline/llm'
import type { Delivery, NewEvent } from '../../contract/batch.ts'
import type { NoticeHook } from '../../contract/notices.ts'
import type { SessionRecord, ToolCallRecord } from '../../contract/records.ts'
import type { StoreHint } from '../../contract/session-store.ts'
import type { Numbers } from '../rules.ts'
import type { HeldSession } from './held-session.ts'
import { SessionIndex } from './session-index.ts'

/** All data of one namespace. */
export interface Space {
  readonly sessions: Map<string, HeldSession>
  readonly index: SessionIndex
  /** The session of each run. */
  readonly sessionOfRun: Map<string, HeldSession>
  /** Ids of the child runs of each run and of each session. */
  readonly children: Map<string, readonly string[]>
  readonly tombstones: Map<string, Tombstone>
  readonly definitions: Map<string, JSONObject>
  /** The number of runs that refer to each definition. */
  readonly definitionUses: Map<string, number>
  /** The call of each approval. */
  readonly approvals: Map<string, CallPlace>
  readonly listeners: Set<(hint: StoreHint) => void>
  /** How many notices were put since it was opened. */
  noticesPut: number
  /** How a running run is known to be lost. */
  readonly loss: 'lease' | 'owner'
  /**
   * Keeps what a step did beyond memory; when it throws the step is taken back. Where it is there, sessions are written
   * one by one: deliveries wait in the outbox of the step.
   */
  readonly keep?: (work: Work) => void
}

export interface CallPlace {
  readonly calls: ReadonlyMap<string, ToolCallRecord>
  readonly id: string
}

/** What a deleted session leaves behind. */
export type Tombstone = Numbers & { readonly deletedAt: number }

export function newSpace(options: Pick<Space, 'loss' | 'keep'> = { loss: 'lease' }): Space {
  return {
    ...options,
    sessions: new Map(),
    index: new SessionIndex(),
    sessionOfRun: new Map(),
    children: new Map(),
    tombstones: new Map(),
    definitions: new Map(),
    definitionUses: new Map(),
    approvals: new Map(),
    listeners: new Set(),
    noticesPut: 0,
  }
}

/** The writes to one session on their way. */
export interface Work {
  readonly space: Space
  readonly key: string
  readonly now: number
  /** How to take back what was done so far, newest last. */
  readonly undo: (() => void)[]
  readonly changes: Change[]
  readonly recordBefore: SessionRecord | undefined
  readonly changedRuns: Set<string>
  readonly references: NonNullable<NewEvent['refers']>[]
  held: HeldSession | undefined
  /** Deliveries to other sessions that are not applied yet. */
  outbox: readonly Delivery[]
  /** The delivery whose writes these are. */
  received?: string
  /** Nothing depends on a claim before the next commit of its run. */
  isClaim?: true
  /** Told besides the webhook of the session. */
  notify: readonly NoticeHook[]
}

/** One row before and after a step. Undefined means that the row does not exist. */
export interface Change {
  readonly map: ReadonlyMap<unknown, unknown>
  readonly key: unknown
  readonly before: unknown
  readonly after: unknown
}
