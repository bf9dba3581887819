import type { ToolCallView } from '@bowline/agent-loop/events'
import { Ban, CircleCheck, CircleDashed, CircleHelp, CircleX, Hand, LoaderCircle, WifiOff } from 'lucide-react'
import type { LucideIcon } from 'lucide-react'

export interface ToolState {
  readonly word: string
  readonly icon: LucideIcon
  readonly tone: string
}

/** Icon and word of every state, so that colour alone never carries the meaning. */
const toolStates: Readonly<Record<ToolCallView['state'], ToolState>> = {
  pending: { word: 'waiting', icon: CircleDashed, tone: 'text-ink-soft' },
  running: { word: 'running', icon: LoaderCircle, tone: 'text-model' },
  remote: { word: 'waiting for you', icon: Hand, tone: 'text-warn' },
  result: { word: 'done', icon: CircleCheck, tone: 'text-good' },
  error: { word: 'failed', icon: CircleX, tone: 'text-bad' },
  denied: { word: 'denied', icon: Ban, tone: 'text-bad' },
  cancelled: { word: 'cancelled', icon: Ban, tone: 'text-ink-soft' },
  unknown: { word: 'outcome unknown', icon: CircleHelp, tone: 'text-warn' },
}

const lost: ToolState = { word: 'needs you', icon: CircleHelp, tone: 'text-warn' }
const asked: ToolState = { word: 'asks you', icon: Hand, tone: 'text-warn' }
const unreachable: ToolState = { word: 'goes on without this page', icon: WifiOff, tone: 'text-ink-soft' }

interface Circumstances {
  /** True if its process died during the call. */
  readonly lost: boolean
  /** True if it waits for an approval. */
  readonly asked: boolean
  /** True if the page has no connection to the server. */
  readonly unreachable: boolean
}

export function toolState(call: ToolCallView, now: Circumstances): ToolState {
  if (now.lost) return lost
  if (now.asked && call.state === 'pending') return asked
  if (now.unreachable && call.state === 'running') return unreachable
  return toolStates[call.state]
}
