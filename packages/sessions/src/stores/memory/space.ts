import type { JSONObject } from '@bowline/llm'
import type { Delivery, NewEvent } from '../../contract/batch.ts'
import type { NoticeHook } from '../../contract/notices.ts'
import type { SessionRecord, ToolCallRecord } from '../../contract/records.ts'
import type { StoreHint } from '../../contract/session-store.ts'
import type { Numbers } from '../../core/rules.ts'
import type { HeldSession } from './held-session.ts'
import { childLists } from './child-lists.ts'
import type { ChildLists } from './child-lists.ts'
import { noticeLists } from './notice-lists.ts'
import type { NoticeLists } from './notice-lists.ts'
import { SessionIndex } from './session-index.ts'

/** All data of one namespace. */
export interface Space {
  readonly sessions: Map<string, HeldSession>
  readonly index: SessionIndex
  readonly notices: NoticeLists
  /** The session of each run. */
  readonly sessionOfRun: Map<string, HeldSession>
  /** Child runs of each run and of each session, in order of creation. */
  readonly children: ChildLists
  readonly tombstones: Map<string, Tombstone>
  readonly definitions: Map<string, JSONObject>
  /** Number of runs that refer to each definition. */
  readonly definitionUses: Map<string, number>
  /** The call of each approval. */
  readonly approvals: Map<string, CallPlace>
  readonly listeners: Set<(hint: StoreHint) => void>
  /** Number of notices that were added since the store was opened. */
  noticesPut: number
  /** Way of detecting the loss of a running run: by its lease or by its owner. */
  readonly loss: 'lease' | 'owner'
  /**
   * Writes a step to durable storage. If it throws, the step is taken back. If it is set, sessions are written one at a time: the
   * outbox of the step keeps its deliveries.
   */
  readonly keep?: (work: Work) => void
}

export interface CallPlace {
  readonly calls: ReadonlyMap<string, ToolCallRecord>
  readonly id: string
}

/** Remains of a deleted session. */
export type Tombstone = Numbers & { readonly deletedAt: number }

export function newSpace(options: Pick<Space, 'loss' | 'keep'> = { loss: 'lease' }): Space {
  return {
    ...options,
    sessions: new Map(),
    index: new SessionIndex(),
    notices: noticeLists(),
    sessionOfRun: new Map(),
    children: childLists(),
    tombstones: new Map(),
    definitions: new Map(),
    definitionUses: new Map(),
    approvals: new Map(),
    listeners: new Set(),
    noticesPut: 0,
  }
}

/** One step in progress: writes to one session. */
export interface Work {
  readonly space: Space
  readonly key: string
  readonly now: number
  /** Undo steps, newest last. */
  readonly undo: (() => void)[]
  readonly changes: Change[]
  readonly recordBefore: SessionRecord | undefined
  readonly changedRuns: Set<string>
  readonly references: NonNullable<NewEvent['refers']>[]
  held: HeldSession | undefined
  /** Deliveries to other sessions that are not applied yet. */
  outbox: readonly Delivery[]
  /** Id of the delivery that these writes come from. */
  received?: string
  /** The step is a claim: nothing depends on it before the next commit of its run. */
  isClaim?: true
  /** Hooks to notify besides the webhook of the session. */
  notify: readonly NoticeHook[]
}

/** One row before and after a step. Undefined: the row does not exist. */
export interface Change {
  readonly map: ReadonlyMap<unknown, unknown>
  readonly key: unknown
  readonly before: unknown
  readonly after: unknown
}
