import type {
  client,
  ClientConnection,
  InitializeResponse,
  PromptResponse,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from '@agentclientprotocol/sdk'
import { acpVersion, answerMethod, pingMethod, recordOf, tokenMethod, withBowline } from '../../worker/meta.ts'
import type { AnswerParams, CancelMeta, CloseMeta, HelloMeta, PromptMeta, SessionMeta } from '../../worker/meta.ts'
import type { ExecutorHost } from '../executor.ts'
import type { WorkerProcess } from './process.ts'
import { readUpdate } from './updates.ts'
import type { Update } from './updates.ts'
import { openWire } from './wire.ts'

/** The bridge, with the client of the protocol, whose package is loaded on demand. */
export interface WorkerHost extends ExecutorHost {
  readonly acpClient: typeof client
}

/** Receivers of messages that a worker sends unasked. */
export interface ConnectionListeners {
  /** Nothing more is read from this worker until the returned promise settles. */
  onUpdate(update: Update, bytes: number): Promise<void> | undefined
  onPermission(request: RequestPermissionRequest): Promise<RequestPermissionResponse>
}

/** Protocol connection to one worker process. Requests reject with a `RequestError` of the worker, or when the connection ends. */
export interface WorkerConnection {
  /** Whether reading is paused because a consumer is slow. */
  readonly stalled: boolean
  /** Resolves at the end of the connection: with the error of the wire, or undefined. */
  readonly closed: Promise<unknown>
  /** Must be called before anything else. */
  sendToken(token: string): Promise<void>
  initialize(hello: HelloMeta): Promise<InitializeResponse>
  newSession(cwd: string, meta: SessionMeta): Promise<string>
  reopen(how: 'resume' | 'load', sessionId: string, cwd: string, meta: SessionMeta): Promise<void>
  prompt(sessionId: string, text: string, meta: PromptMeta): Promise<PromptResponse>
  answer(params: AnswerParams): Promise<boolean>
  cancel(sessionId: string, meta: CancelMeta): Promise<void>
  closeSession(sessionId: string, meta: CloseMeta): Promise<void>
  ping(): Promise<void>
  close(): void
}

export function connectProcess(
  acpClient: WorkerHost['acpClient'],
  { stdin, stdout }: WorkerProcess,
  listeners: ConnectionListeners,
): WorkerConnection {
  const wire = openWire(stdout, stdin, (params, bytes) => listeners.onUpdate(readUpdate(params), bytes))
  // The bridge offers no files or terminals: the connection answers such requests with "method not found".
  const connection = acpClient({ name: 'bowline' })
    .onRequest('session/request_permission', ({ params }) => listeners.onPermission(params))
    .onNotification('*', () => {})
    .connect(wire.stream)
  const { agent } = connection

  return {
    get stalled() {
      return wire.stalled
    },
    closed: endOf(connection),
    sendToken: (token) => agent.notify(tokenMethod, { token }),
    initialize: (hello) =>
      agent.request('initialize', {
        protocolVersion: acpVersion,
        clientCapabilities: {},
        clientInfo: { name: 'bowline', version: '1' },
        ...withBowline(hello),
      }),
    async newSession(cwd, meta) {
      const { sessionId } = await agent.request('session/new', { cwd, mcpServers: [], ...withBowline(meta) })
      return sessionId
    },
    async reopen(how, sessionId, cwd, meta) {
      const params = { sessionId, cwd, mcpServers: [], ...withBowline(meta) }
      await (how === 'resume' ? agent.request('session/resume', params) : agent.request('session/load', params))
    },
    prompt: (sessionId, text, meta) =>
      agent.request('session/prompt', { sessionId, prompt: [{ type: 'text', text }], ...withBowline(meta) }),
    async answer(params) {
      return recordOf(await agent.request<unknown>(answerMethod, params))['taken'] === true
    },
    cancel: (sessionId, meta) => agent.notify('session/cancel', { sessionId, ...withBowline(meta) }),
    async closeSession(sessionId, meta) {
      await agent.request('session/close', { sessionId, ...withBowline(meta) })
    },
    async ping() {
      await agent.request(pingMethod, {})
    },
    close: () => connection.close(),
  }
}

async function endOf(connection: ClientConnection): Promise<unknown> {
  await connection.closed
  return connection.signal.reason
}
