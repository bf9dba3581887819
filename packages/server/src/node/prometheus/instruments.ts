import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

const answerSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const commitSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]
const queueSeconds = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800]
const lagEvents = [0, 1, 2, 5, 10, 25, 50, 100, 250, 1000, 10_000]

export type Instruments = ReturnType<typeof createInstruments>

/** Creates all metrics. Labels are route patterns and configured names. `tenants` adds the tenant as a label. */
export function createInstruments(registry: Registry, tenants: boolean) {
  const registers = [registry]
  const tenant = tenants ? ['tenant'] : []
  const counter = (name: string, help: string, ...labelNames: string[]) => new Counter({ name, help, labelNames, registers })
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
  const histogram = (name: string, help: string, buckets: number[], ...labelNames: string[]) =>
    new Histogram({ name, help, buckets, labelNames, registers })
  return {
    requests: counter('bowline_http_requests_total', 'Requests that were answered.', 'method', 'route', 'status', ...tenant),
    requestSeconds: histogram(
      'bowline_http_duration_seconds',
      'From a request to the headers of its answer.',
      answerSeconds,
      'method',
      'route',
    ),
    rateLimited: counter('bowline_rate_limited_total', 'Requests that hit a limit.', 'route', 'code', ...tenant),
    streamsOpen: gauge('bowline_streams_open', 'Open event streams.'),
    streamFrames: counter('bowline_stream_frames_total', 'Frames that were sent, counted when their stream is closed.'),
    streamEnds: counter('bowline_stream_end_total', 'Streams that were closed, by the reason.', 'reason'),
    readerLag: histogram('bowline_reader_lag_events', 'The most that one reader was behind, in events.', lagEvents),
    runsRunning: gauge('bowline_runs_running', 'Runs that this process executes.'),
    runs: counter('bowline_runs_total', 'Runs that ended in this process.', 'status'),
    recoveries: counter('bowline_recoveries_total', 'Runs that were taken up after their process was lost.'),
    queueSeconds: histogram('bowline_queue_age_seconds', 'How long an input had waited when its run began.', queueSeconds),
    commitSeconds: histogram('bowline_store_commit_seconds', 'What a commit to the store took.', commitSeconds),
    tokens: counter(
      'bowline_tokens_total',
      'Tokens of model calls. Input and output are totals, the other kinds parts of them.',
      'model',
      'kind',
    ),
    cost: counter('bowline_cost_total', 'What model calls cost.', 'model', 'currency'),
  }
}
