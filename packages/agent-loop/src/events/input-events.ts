import type { UserMessage } from '@bowline/llm'
import type { RunEventBase } from './event-base.ts'

export interface UserMessageEvent extends RunEventBase {
  readonly type: 'user-message'
  readonly messageId: string
  readonly message: UserMessage
  readonly source: string
  readonly inputId?: string
}

/** Input that came while the turn was under way. An overlay never has its message here. */
export interface RuntimeInputEvent extends RunEventBase {
  readonly type: 'runtime-input'
  readonly inputId: string
  readonly source: InputSource
  readonly placement: Window
  readonly message?: UserMessage
  /** Length of the text. */
  readonly characters: number
}

/** `steer` from the holder of the run, `notify` from a runtime; both are stored. An `overlay` is shown for one turn only. */
export type InputSource = 'steer' | 'notify' | 'overlay'

/** Where input may come into a turn. */
export type Window = 'turn-start' | 'step-start' | 'step-end'
