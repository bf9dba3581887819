import type { Clock } from '@bowline/llm'
import type { Pace } from '../../pace.ts'

/** What the demo's tools need of the world. */
export interface ToolSurroundings {
  readonly pace: Pace
  readonly clock: Clock
  /** Must exist. The only folder that the tools write to. */
  readonly dataFolder: string
}
