// Order inside each package, from the lowest room to the highest. A file may import only from its own room and from lower rooms, by
// value and by type. A room is a folder or file of `src`, or several of them under one name. `node scripts/structure.mjs` checks
// it.

/**
 * @typedef {string | { readonly room: string, readonly holds: readonly string[] }} Room a folder, a file, or several under one name
 * @typedef {Room | readonly Room[]} Level several rooms of the same level, which must not import each other
 */

/** @type {Readonly<Record<string, readonly Level[]>>} */
export const structure = {
  llm: [
    { room: 'base', holds: ['arguments.ts', 'json.ts', 'model-error.ts', 'check.ts', 'clock.ts'] },
    {
      room: 'contract',
      holds: ['messages.ts', 'beginnings.ts', 'check-messages.ts', 'message-id.ts', 'unique-ids.ts', 'events.ts', 'model-info.ts'],
    },
    [{ room: 'errors', holds: ['errors', 'redact.ts'] }, 'params', 'tools', 'prompt', 'usage'],
    ['models', 'telemetry'],
    'model-request.ts',
    'stream',
    'index.ts',
    'testing',
  ],
  'agent-loop': [
    'events',
    'base',
    'contract',
    'transcript',
    'journal',
    'tools',
    'kernel',
    [
      ...[
        'plugins/retry',
        'plugins/budget',
        'plugins/limits',
        'plugins/steering',
        'plugins/compaction',
        'plugins/guardrails',
        'plugins/extensions',
      ],
      ...[
        'plugins/approvals',
        'plugins/recovery',
        'plugins/subagents',
        'plugins/prompt',
        'plugins/model-function',
        'plugins/step-functions',
        'plugins/output',
      ],
    ],
    'run',
    'agent',
    { room: 'entries', holds: ['index.ts', 'internal.ts', 'repair.ts'] },
    'node',
  ],
  sessions: [
    { room: 'base', holds: ['errors.ts', 'arguments.ts', 'keys.ts', 'json.ts'] },
    'contract',
    'rows',
    'core',
    'state',
    ['stores', 'orchestration', 'memories', 'requests', 'net'],
    'log',
    'writer',
    'commands',
    'children',
    'runtime',
    {
      room: 'entries',
      holds: [
        'index.ts',
        'internal.ts',
        'memory.ts',
        'env.ts',
        'file.ts',
        'requests.ts',
        'rows.ts',
        'sql.ts',
        'sqlite.ts',
        'store-parts.ts',
      ],
    },
  ],
  postgres: ['store', 'index.ts'],
  redis: ['redis', 'kv', { room: 'entries', holds: ['index.ts', 'kv.ts'] }, 'testing'],
  restate: [
    'options.ts',
    { room: 'client', holds: ['ingress.ts', 'remote-sessions.ts'] },
    { room: 'worker', holds: ['visits.ts', 'handlers.ts', 'listen.ts'] },
    'sessions-on.ts',
    'index.ts',
  ],
  bridge: [
    {
      room: 'base',
      holds: [
        'errors.ts',
        'arguments.ts',
        'check-schemas.ts',
        'given-fields.ts',
        'redact.ts',
        'redact-cause.ts',
        'settles-within.ts',
        'notices.ts',
      ],
    },
    { room: 'failures', holds: ['model-failure.ts', 'missing-agent.ts', 'error-body.ts'] },
    { room: 'contract', holds: ['agent.ts', 'check-agent.ts', 'context.ts', 'readable-events.ts', 'logger.ts'] },
    'worker',
    'executors',
    { room: 'bridge contract', holds: ['bridge-contract.ts', 'observer.ts'] },
    { room: 'agent list', holds: ['sorted-agents.ts', 'agent-directory.ts'] },
    { room: 'owners', holds: ['owner-limits.ts', 'owner-key.ts'] },
    'input',
    'open-calls.ts',
    'records',
    { room: 'core', holds: ['settings.ts', 'core.ts', 'config.ts'] },
    'sessions',
    'requests',
    'agents',
    'mcp',
    'operations',
    { room: 'bridge', holds: ['bridge.ts', 'delegate-tool.ts'] },
    'bin',
    { room: 'entries', holds: ['index.ts', 'internal.ts'] },
  ],
  server: [
    { room: 'base', holds: ['server-error.ts', 'arguments.ts', 'json.ts', 'hash.ts', 'base64url.ts', 'limits.ts', 'session-log.ts'] },
    { room: 'problems', holds: ['problems.ts', 'to-problem-error.ts'] },
    { room: 'auth', holds: ['auth', 'session-keys.ts'] },
    'sse',
    'rate',
    'options.ts',
    'observe',
    'wire',
    'mcp',
    { room: 'services', holds: ['services.ts', 'check-options.ts'] },
    'execute',
    'chat',
    'routes',
    'http',
    'config',
    { room: 'entries', holds: ['create-server.ts', 'index.ts'] },
    'node',
    'bin',
  ],
  client: [
    { room: 'wire', holds: ['wire.ts', 'wire-sessions.ts', 'wire-notices.ts', 'wire-requests.ts', 'wire-schedules.ts'] },
    { room: 'base', holds: ['arguments.ts', 'clock.ts', 'cursor.ts', 'problem.ts', 'client-error.ts', 'on-return.ts', 'patience.ts'] },
    { room: 'connection', holds: ['connection.ts', 'sse-parser.ts', 'http.ts', 'client-event.ts', 'event-stream.ts', 'fold-event.ts'] },
    { room: 'run', holds: ['client-tool.ts', 'tool-runner.ts', 'run-reader.ts', 'event-reader.ts', 'run.ts'] },
    {
      room: 'session',
      holds: ['client-session.ts', 'client-options.ts', 'common-checks.ts', 'request-checks.ts', 'whole-state.ts', 'session.ts'],
    },
    'client.ts',
    'index.ts',
    [{ room: 'react', holds: ['react', 'react.ts'] }, 'chat.ts', 'admin.ts'],
  ],
  testing: [
    'loop',
    [
      'executors',
      {
        room: 'stores',
        holds: [
          ...['around-runtime.ts', 'around-store.ts', 'check-options.ts', 'fault-plan.ts', 'faulty-store.ts', 'program-time.ts'],
          ...['runner.ts', 'until-quiet.ts', 'warm-up.ts', 'crash-kit', 'crash-kit.ts', 'explore-store-faults.ts'],
          ...['row-kit', 'row-kit.ts', 'state-kit', 'state-kit.ts', 'placement-kit', 'placement-kit.ts'],
        ],
      },
    ],
    { room: 'entries', holds: ['index.ts', 'crashes.ts', 'executors.ts', 'placement.ts', 'stores.ts'] },
  ],
}

/**
 * Main function of a package by the type of its options, and the interface with the hooks of its plug-ins.
 *
 * @type {Readonly<Record<string, { readonly options?: string, readonly hooks?: { readonly file: string, readonly name: string } }>>}
 */
export const mains = {
  'agent-loop': { options: 'AgentOptions', hooks: { file: 'kernel/turn.ts', name: 'Hooks' } },
  sessions: { options: 'RuntimeOptions' },
  bridge: { options: 'BridgeOptions' },
  server: { options: 'ServerOptions' },
}

/**
 * Mass that each package is to come down to.
 *
 * @type {Readonly<Record<string, import('./scripts/mass.mjs').Target>>}
 */
export const targets = {
  llm: { lines: 7_500 },
  'agent-loop': { lines: 15_000, hooks: 25 },
  sessions: { lines: 19_000 },
  postgres: { lines: 2_200 },
  redis: { lines: 1_000 },
  restate: { lines: 400 },
  testing: { lines: 7_500 },
  bridge: { lines: 8_000 },
  server: { lines: 9_500 },
  client: { lines: 3_500 },
}
