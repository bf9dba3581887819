/** What the server process tells the supervisor. */
export type ServerMessage =
  | { readonly type: 'ready'; readonly url: string; readonly runtimeId: string }
  | Refusal

/** It cannot start. */
interface Refusal {
  readonly type: 'refused'
  readonly reason: 'port-taken' | 'settings' | 'store'
  readonly message: string
  /** It may start later, if it did before. */
  readonly passing?: boolean
}

/** Sent by the supervisor of several server processes to each of them, whenever one of them comes or goes. */
export interface SupervisorMessage {
  readonly type: 'processes'
  readonly processes: readonly ServerProcess[]
}

/** A server process of the demo. */
export interface ServerProcess {
  readonly name: string
  /** Absent while it is down. */
  readonly up?: { readonly pid: number; readonly runtimeId: string }
}

/** The exit code of a server process that refused to start. */
export const refusedExitCode = 78
