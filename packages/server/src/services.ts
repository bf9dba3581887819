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

/** Parts that the routes use. Routes have no state of their own. */
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
  /** Absent if files given by their address are refused. */
  readonly download: FileDownload | undefined
  readonly tickets: Tickets
  /** Undefined if recorded requests are not exposed. */
  readonly requests: Pick<RequestRecorder, 'list' | 'get'> | undefined
  /** Undefined if there is no bridge. */
  readonly mcp: McpService | undefined
  /** Undefined if there are no metrics. */
  readonly metrics: Metrics | undefined
  readonly redaction: Redaction
  readonly isDraining: () => boolean
  /** Logs the error of a stream and returns the frame for the reader. */
  readonly streamError: (error: unknown, call: { readonly request: Request; readonly requestId: string }) => StreamError
}
