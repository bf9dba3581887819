/** Message of the server process to the supervisor. */
export type ServerMessage = Listening | Ready | Refusal

/** The process listens for Restate at this URL. It begins to work when the supervisor has answered `registered`. */
interface Listening {
  readonly type: 'listening'
  readonly workerUrl: string
}

interface Ready {
  readonly type: 'ready'
  readonly url: string
  readonly runtimeId: string
}

/** The server cannot start. */
interface Refusal {
  readonly type: 'refused'
  readonly reason: 'port-taken' | 'settings' | 'store' | 'restate'
  readonly message: string
  /** True if a later start may succeed, if an earlier one did. */
  readonly passing?: boolean
}

export type SupervisorMessage = Processes | { readonly type: 'registered' }

/** Sent by the supervisor to each of several server processes when one of them starts or ends. */
interface Processes {
  readonly type: 'processes'
  readonly processes: readonly ServerProcess[]
}

/** Server process of the demo. */
export interface ServerProcess {
  readonly name: string
  /** Absent while it is down. */
  readonly up?: { readonly pid: number; readonly runtimeId: string }
}

/** Exit code of a server process that refused to start. */
export const refusedExitCode = 78
