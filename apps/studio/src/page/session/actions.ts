import type { ToolResolution, ToolResultInput } from '@bowline/client'

export type Resolution = ToolResolution
export type ToolAnswer = ToolResultInput
