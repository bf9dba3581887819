/** What the server process tells the supervisor. */
export type ServerMessage =
  | { readonly type: 'ready'; readonly url: string }
  /** It cannot start, and starting it again would not help. */
  | { readonly type: 'refused'; readonly reason: 'port-taken' | 'settings' | 'store'; readonly message: string }

/** The exit code of a server process that refused to start. */
export const refusedExitCode = 78
