import type { Clock } from '@bowline/llm'
import type { Pace } from '../../pace.ts'

/** Environment of the demo's tools. */
export interface ToolEnvironment {
  readonly pace: Pace
  readonly clock: Clock
  /** Must exist. The tools write only to this folder. */
  readonly dataFolder: string
}
