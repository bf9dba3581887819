import type { StreamError } from '@bowline/client'
import type { IdSource } from '@bowline/agent-loop'
import type { Clock, Redaction } from '@bowline/llm'
import type { Orchestration, Runtime } from '@bowline/sessions'
import type { RequestRecorder } from '@bowline/sessions/requests'
import type { Tickets } from './auth/tickets.ts'
import type { FileDownload } from './execute/file-download.ts'
import type { Limits } from './limits.ts'
import type { McpService } from './mcp/mcp-service.ts'
import type { Metrics } from './observe/metrics.ts'
import type { AgentAccess } from './options.ts'
import type { RateLimits } from './rate/rate-limits.ts'
import type { RunningRuns } from './rate/running-runs.ts'
import type { OpenStreams } from './sse/open-streams.ts'

/** What the routes work with. They hold no state of their own. */
export interface Services {
  readonly runtime: Runtime
  readonly orchestration: Orchestration | undefined
  readonly agents: Readonly<Record<string, AgentAccess>>
  readonly defaultAgent: string | undefined
  readonly limits: Required<Limits>
  readonly clock: Clock
  readonly ids: IdSource
  readonly streams: OpenStreams
  readonly rateLimits: RateLimits
  readonly runningRuns: RunningRuns
  /** Absent: files are not taken by their address. */
  readonly download: FileDownload | undefined
  readonly tickets: Tickets
  /** Undefined: what models are sent is not shown. */
  readonly requests: Pick<RequestRecorder, 'list' | 'get'> | undefined
  /** Undefined: there is no bridge. */
  readonly mcp: McpService | undefined
  /** Undefined: nothing is counted. */
  readonly metrics: Metrics | undefined
  readonly redaction: Redaction
  readonly isDraining: () => boolean
  /** Logs what broke a stream and says what it is to the reader. */
  readonly streamError: (error: unknown, call: { readonly request: Request; readonly requestId: string }) => StreamError
}
