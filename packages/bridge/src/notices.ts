/** A transition, refusal or loss inside a bridge, for logs and counters. `onEvent` receives it. Plain JSON. */
export type BridgeNotice = NoticeBody & { readonly at: number }

/** A notice without its time, as executors report it. */
export type NoticeBody =
  | {
      readonly type: 'session-changed'
      readonly sessionId: string
      readonly agentId: string
      readonly owner: string
      readonly from: string
      readonly to: string
      readonly reason?: string
    }
  | {
      readonly type: 'request-changed'
      readonly requestId: string
      readonly sessionId: string
      readonly agentId: string
      readonly owner: string
      readonly from: string
      readonly to: string
      readonly reason?: string
    }
  /** A refused call, which changed nothing. */
  | { readonly type: 'refused'; readonly call: string; readonly code: string; readonly reason?: string }
  /** An event or result that came too late, or from a sender that is no longer valid. */
  | {
      readonly type: 'dropped'
      readonly what: string
      readonly sessionId?: string
      readonly requestId?: string
      readonly workerId?: string
    }
  | {
      readonly type: 'worker-changed'
      readonly workerId: string
      readonly instance: number
      readonly generation: number
      readonly to: string
      readonly restarts: number
      readonly reason?: string
    }
