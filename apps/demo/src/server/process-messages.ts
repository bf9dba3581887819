/** Message of the server process to the supervisor. */
export type ServerMessage = { readonly type: 'ready'; readonly url: string; readonly runtimeId: string } | Refusal

/** The server cannot start. */
interface Refusal {
  readonly type: 'refused'
  readonly reason: 'port-taken' | 'settings' | 'store'
  readonly message: string
  /** True if a later start may succeed, if an earlier one did. */
  readonly passing?: boolean
}

/** Sent by the supervisor to each of several server processes when one of them starts or ends. */
export interface SupervisorMessage {
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
