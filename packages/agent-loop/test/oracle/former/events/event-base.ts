/**
 * `at` is epoch milliseconds; the durable events of one commit carry one time. `seq` is absent until the commit gave it.
 */
export interface EventBase {
  readonly at: number
  readonly seq?: number
}

/** Events of a run. `turn` counts the turns of the conversation, `step` the model calls of the turn, both from 1. */
export interface RunEventBase extends EventBase {
  readonly runId: string
  readonly turn: number
  /** Names of the agents from the root to the one that made the event; absent at the root. */
  readonly agent?: readonly string[]
}

export interface StepEventBase extends RunEventBase {
  readonly step: number
}

export interface ModelName {
  readonly provider: string
  readonly modelId: string
}
