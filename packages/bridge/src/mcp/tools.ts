import { agentsDiscover, bridgeHealth } from './agent-tools.ts'
import { sessionsCancel, sessionsClose, sessionsCreate, sessionsList, sessionsStatus } from './session-tools.ts'
import type { BridgeTool } from './tool.ts'
import { sessionsPrompt, tasksDelegate, tasksList, tasksStatus } from './work-tools.ts'

/** All tools, in the order in which they are listed. */
export const bridgeTools: readonly BridgeTool[] = [
  bridgeHealth,
  agentsDiscover,
  sessionsCreate,
  sessionsPrompt,
  sessionsStatus,
  sessionsList,
  sessionsCancel,
  sessionsClose,
  tasksDelegate,
  tasksStatus,
  tasksList,
]
