export { sessionsAt, sessionsOn, type HostedSessions } from './sessions-on.ts'
export type { Listening } from './listen.ts'
export type { ListenOptions, RestateOptions, RestateSessionsOptions } from './options.ts'
export type { AcceptedRun, RemoteMethod, RemoteResult, RemoteSession, RemoteSessions } from './remote-sessions.ts'
