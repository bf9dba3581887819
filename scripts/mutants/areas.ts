import type { Area, AreaPart } from './run-area.ts'

/** Safety-critical sources by topic, and the tests that guard them. */
export const areas: readonly Area[] = [
  {
    name: 'core',
    parts: [
      part(
        'sessions',
        ['core/*'],
        [
          'core/cost',
          'core/many-leases',
          'core/packed-events',
          'core/reads-and-writes',
          'core/receivers',
          'core/refused-changes',
          'core/rules',
          'life/clock-set-back',
        ],
      ),
    ],
  },
  {
    name: 'ledger',
    parts: [
      part(
        'agent-loop',
        ['kernel/call', 'plugins/recovery/recovery', 'journal/turn-log'],
        [
          'plugins/recovery/recovery',
          'journal/commits',
          'journal/leaving',
          'kernel/settling',
          'run/remote',
          'run/answers',
          'plugins/retry/retry',
          'plugins/approvals/approvals',
          'plugins/subagents/suspended',
          'plugins/steering/journal-inputs',
          'plugins/retry/retry-rewind',
          'events/log',
          'plugins/extensions/calls',
          'plugins/extensions/run-context',
        ],
      ),
      part(
        'sessions',
        ['writer/{ledger-rows,settle-open-calls,turn-state,close-run}', 'commands/recover-run'],
        [
          'writer/lost-runs',
          'runtime/ledger',
          'runtime/run',
          'runtime/definitions',
          'runtime/behind-the-end',
          'commands/recovery-answers',
          'commands/stop',
          'commands/steer',
          'life/kill',
          'children/stopping',
          'children/held',
        ],
      ),
    ],
  },
  {
    name: 'claims',
    parts: [
      part(
        'sessions',
        ['runtime/{claim-loop,recover}'],
        ['runtime/recovering', 'runtime/claiming', 'runtime/stopping', 'life/wake', 'runtime/many-runtimes', 'life/drain'],
      ),
      part('sessions', ['stores/sqlite/row-cache'], ['stores/row-cache', 'stores/sqlite']),
      part('bridge', ['requests/claim', 'records/processes'], ['admission', 'records', 'calls-that-meet']),
    ],
  },
  {
    name: 'fences',
    parts: [
      part(
        'sessions',
        ['runtime/leases', 'contract/steady-store'],
        ['life/lease-beats', 'contract/ask-again', 'runtime/failing-store', 'life/leases', 'life/clock-set-back'],
      ),
      part('sessions', ['stores/owner-lock'], ['stores/owner-lock', 'stores/private-files']),
      part('bridge', ['records/record-table'], ['records', 'calls-that-meet']),
    ],
  },
  {
    name: 'auth',
    parts: [
      part('server', ['http/{access,caller,addresses}'], ['http/caller', 'http/access', 'node/guarded-download']),
      part(
        'server',
        ['auth/{auth,bearer,check-auth,principal,token}'],
        ['session-keys', 'auth/auth', 'auth/jwt-config', 'auth/reload', 'argument-table'],
      ),
      part('server', ['auth/jwt'], ['auth/jwt-config', 'auth/jwt']),
      part('server', ['auth/{authenticator,tickets}'], ['auth/tickets', 'auth/auth', 'auth/reload', 'auth/awaited-answers']),
    ],
  },
  {
    name: 'owners',
    parts: [
      part(
        'bridge',
        ['owner-key', 'owner-limits', 'operations/{cancel,look,close,list-sessions}', 'mcp/reach'],
        ['owners', 'cancel', 'list-and-notices', 'mcp/reach', 'owner-limits', 'sessions', 'answers', 'mcp/users'],
      ),
      part('server', ['session-keys', 'routes/owned-session'], ['session-keys', 'lives', 'sessions']),
      part('server', ['rate/rate-limits'], ['rate/buckets', 'auth/awaited-answers', 'rate/rate-limits']),
      part('server', ['rate/running-runs'], ['rate/running-runs']),
    ],
  },
  {
    name: 'redaction',
    parts: [
      part('llm', ['redact', 'errors/mask-secrets'], ['redact', 'errors', 'errors-secrets', 'argument-table', 'errors-of-providers']),
      part('bridge', ['redact', 'error-body', 'model-failure'], ['redact', 'redact-cause', 'logger', 'prompts', 'loop-events']),
      part('server', ['observe/redacting-logger', 'to-problem-error'], ['failure-texts', 'problems', 'observe/logs']),
    ],
  },
  {
    name: 'patience',
    parts: [
      part(
        'client',
        ['{patience,http,event-stream,tool-runner,on-return,problem}'],
        ['patience', 'http', 'tool-runner', 'remote-tools', 'requests', 'attach', 'run'],
      ),
    ],
  },
  {
    name: 'budgets',
    parts: [
      part(
        'agent-loop',
        ['plugins/budget/budget', 'plugins/limits/limits', 'plugins/retry/retry', 'kernel/spending', 'base/promises'],
        [
          'plugins/budget/budget',
          'plugins/budget/budget-sums',
          'plugins/budget/budget-reasons',
          'base/promises',
          'plugins/limits/limits',
          'plugins/retry/retry',
          'plugins/retry/retry-rewind',
          'plugins/retry/fallback',
          'agent/undefined-options',
          'kernel/timeouts',
          'kernel/stopping',
          'kernel/settling',
          'plugins/subagents/run-child',
        ],
      ),
    ],
  },
  {
    name: 'approvals',
    parts: [
      part(
        'agent-loop',
        ['plugins/approvals/approvals', 'run/submission', 'plugins/model-function/function-answers'],
        [
          'plugins/approvals/approvals',
          'plugins/approvals/approvals-in-place',
          'run/answers',
          'plugins/model-function/answer-fields',
          'plugins/model-function/model-function',
          'plugins/recovery/recovery',
          'plugins/subagents/suspended',
        ],
      ),
      part(
        'sessions',
        ['commands/{decisions,answers,given-answers}', 'contract/answers'],
        [
          'commands/approvals',
          'commands/answers',
          'commands/given-answers',
          'commands/answers-at-once',
          'commands/recovery-answers',
          'children/asking',
        ],
      ),
      part('server', ['routes/approvals'], ['held', 'context', 'contract', 'input', 'observe/audit', 'rate/rate-limits']),
    ],
  },
  {
    name: 'cursors',
    parts: [
      part(
        'sessions',
        ['contract/cursor', 'log/{read-log,reader-queue}'],
        [
          'log/reader-queue',
          'log/reach-of-cursors',
          'log/take',
          'log/run-events',
          'log/live-log',
          'log/read-log',
          'log/following',
          'log/ends',
          'log/waiting-readers',
          'log/stalled-readers',
        ],
      ),
      part('client', ['{cursor,sse-parser}'], ['sse-parser', 'attach', 'run']),
      part(
        'server',
        ['sse/{event-stream,frames,join-deltas,shared-frames}', 'session-log'],
        ['sse/join-deltas', 'sse/shared-frames', 'sse/frames', 'sse/event-stream', 'sse/slow-reader', 'sse/open-streams', 'events'],
      ),
      part('bridge', ['input/list-cursor'], ['list-and-notices', 'sessions']),
    ],
  },
]

function part(project: string, sources: readonly string[], tests: readonly string[]): AreaPart {
  const root = `packages/${project}`
  return {
    project,
    sources: sources.map((source) => `${root}/src/${source}.ts`),
    tests: tests.map((test) => `${root}/test/${test}.test.ts`),
  }
}
