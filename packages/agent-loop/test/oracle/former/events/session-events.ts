import type { JSONValue } from '@bowline/llm'
import type { EventBase, RunEventBase } from './event-base.ts'

export interface SessionStartEvent extends EventBase {
  readonly type: 'session-start'
  readonly sessionKey: string
  /** The transcript came from elsewhere (fork, import): a reader loads it. */
  readonly copied?: true
}

export interface SessionEndEvent extends EventBase {
  readonly type: 'session-end'
  readonly sessionKey: string
  readonly reason: 'deleted' | 'expired'
}

export interface RunQueuedEvent extends EventBase {
  readonly type: 'run-queued'
  readonly runId: string
  readonly kind: 'user' | 'follow-up' | 'child' | 'notification' | 'compaction'
  /** As it was given; null for a run without input. */
  readonly input: JSONValue
  readonly inputId?: string
}

/** The conversation goes on elsewhere in its tree. Entry ids; null is the root. */
export interface BranchSwitchedEvent extends EventBase {
  readonly type: 'branch-switched'
  readonly from: string | null
  readonly to: string | null
  readonly summaryEntryId?: string
}

/** Made by an extension, through `logStep`. */
export interface OrchestrationStepEvent extends RunEventBase {
  readonly type: 'orchestration-step'
  readonly name: string | null
  readonly previous?: string
  readonly because: string
  readonly sequenceIndex: number
}
