import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

/**
 * All bounds of the packages, and all collections that outlive a call. A new one fails this test until it has a row: say what happens
 * at the bound, or what empties the collection. What a process remembers for longer than one run also names the test that passes its
 * bound several times.
 */
const root = join(import.meta.dirname, '../../packages')

/** Bound of what a process remembers: what happens at it, the file of the test and the start of its name. */
const remembered: Readonly<Record<string, readonly [at: string, file: string, test: string]>> = {
  'agent-loop/plugins/prompt/cache.ts limit': [
    'drops the prompt unused for longest',
    'agent-loop/test/plugins/prompt/cache.test.ts',
    'holds 100 entries',
  ],
  'agent-loop/plugins/compaction/facts.ts mostFacts': [
    'drops the oldest facts',
    'agent-loop/test/plugins/compaction/facts.test.ts',
    'are bounded: the latest',
  ],
  'bridge/agent-directory.ts usualMaxTold': ['reports no more agents', 'bridge/test/bounds.test.ts', 'agents that cannot be listed'],
  'bridge/requests/event-readers.ts maxQueuedEvents': [
    'drops deltas, else ends the reader',
    'bridge/test/event-readers.test.ts',
    'a slow reader loses deltas',
  ],
  'bridge/sessions/unattached-sessions.ts usualMaxOwners': [
    'drops the owner read first',
    'bridge/test/bounds.test.ts',
    'owners with sessions',
  ],
  'client/client-options.ts mostNames': ['drops the oldest name', 'client/test/bounds.test.tsx', 'remembers the newest thousand'],
  'client/react/session-store.ts usualKeptEvents': [
    'drops the oldest events',
    'client/test/bounds.test.tsx',
    'C23: a snapshot has the newest events',
  ],
  'llm/models/models.ts keptModels': [
    'drops the model unused for longest',
    'llm/test/recently-used.test.ts',
    'keeps the most recently used',
  ],
  'llm/models/recently-used.ts longestName': ['does not keep it', 'llm/test/recently-used.test.ts', 'keeps no entry with a very long name'],
  'server/execute/limit-downloads.ts maxAtOnce': ['waits', 'server/test/execute/limit-downloads.test.ts', 'V73, V79: four files'],
  'server/execute/limit-downloads.ts maxWaiting': ['refuses', 'server/test/execute/limit-downloads.test.ts', 'V73, V79: four files'],
  'server/node/traced-runs.ts maxRemembered': [
    'drops the oldest link',
    'server/test/observe/spans.test.ts',
    'V92: of the inputs whose runs',
  ],
  'server/rate/running-runs.ts most': ['drops a tenant; reads again', 'server/test/bounds.test.ts', 'V77: so many tenants'],
  'server/sse/shared-frames.ts maxStoredBytes': [
    'drops the oldest frames',
    'server/test/sse/shared-frames.test.ts',
    'V37: the cache for other readers',
  ],
  'server/sse/shared-frames.ts maxKeptBytes': [
    'shares it while a reader holds it',
    'server/test/sse/shared-frames.test.ts',
    'V37, V39: fifty stalled',
  ],
  'sessions/commands/run-driver.ts maxExpected': ['drops the driver that waits longest', 'sessions/test/bounds.test.ts', 'drivers of runs'],
  'sessions/log/live-log.ts ringBytes': [
    'drops the older half',
    'sessions/test/log/live-log.test.ts',
    'S117: deltas of a message beyond the ring',
  ],
  'sessions/log/reader-queue.ts maxQueueBytes': [
    'empties it; reads the store',
    'sessions/test/log/reader-queue.test.ts',
    'S117: is full at exactly its bytes',
  ],
  'sessions/log/share-deltas.ts mostBytes': [
    'drops deltas of the message',
    'sessions/test/log/share-deltas.test.ts',
    'S188: a store that %s',
  ],
  'sessions/orchestration/changes.ts recentToolsKept': [
    'drops the oldest',
    'sessions/test/orchestration/state.test.ts',
    'O12: a used tool is first',
  ],
  'sessions/orchestration/changes.ts usesKept': [
    'drops the oldest',
    'sessions/test/orchestration/state.test.ts',
    'O12: a used tool is first',
  ],
  'sessions/orchestration/id-queues.ts usualMostWaiting': ['refuses', 'sessions/test/bounds.test.ts', 'changes of one orchestration'],
  'sessions/orchestration/records.ts keysKept': [
    'forgets the oldest key',
    'sessions/test/orchestration/state.test.ts',
    'O14: a key counts once',
  ],
  'sessions/requests/record-requests.ts mostLogs': [
    'drops the session unused for longest',
    'sessions/test/bounds.test.ts',
    'last requests of sessions',
  ],
  'sessions/requests/request-log.ts mostWaiting': ['refuses', 'sessions/test/bounds.test.ts', 'requests that are not yet recorded'],
  'sessions/runtime/failing-receivers.ts mostReceivers': [
    'forgets the oldest receiver',
    'sessions/test/notify/failing-receivers.test.ts',
    'S213: a receiver is paused',
  ],
  'sessions/runtime/tenant-budgets.ts usualAccounts': ['drops idle accounts', 'sessions/test/bounds.test.ts', 'accounts of tenants'],
  'sessions/stores/sqlite/row-cache.ts mostRows': [
    'forgets the row unused for longest',
    'sessions/test/stores/row-cache.test.ts',
    'S54: the oldest of a thousand rows',
  ],
  'sessions/stores/sqlite/row-cache.ts longestRow': [
    'does not keep it',
    'sessions/test/stores/row-cache.test.ts',
    'S54: the oldest of a thousand rows',
  ],
  'postgres/store/hint-sender.ts mostKeys': ['asks to read all', 'postgres/test/hints.test.ts', 'S187: hints of more than 10,000'],
  'postgres/store/hint-sender.ts mostBatches': ['forgets the oldest time', 'postgres/test/hints.test.ts', 'S187: the send times'],
  'sessions/writer/conversations.ts usualMost': [
    'drops the oldest whole',
    'sessions/test/writer/conversations.test.ts',
    'S155: a process keeps the most recent',
  ],
}

/** Bounds of inputs of the sessions: the file of the test that goes beyond them, and the start of its name. */
const refused: Readonly<Record<string, readonly [file: string, test: string]>> = {
  'sessions/commands/accept.ts maxQueuedRuns': ['sessions/test/commands/accept.test.ts', 'S32: a session with 1,000 queued'],
  'sessions/commands/schedules/fire-schedule.ts maxQueuedRuns': [
    'sessions/test/commands/schedules/schedules.test.ts',
    'S210: an input that finds the queue full',
  ],
  'sessions/commands/schedules/schedules.ts mostSchedules': [
    'sessions/test/commands/schedules/schedules.test.ts',
    'S210: a session has at most 100',
  ],
  'sessions/commands/steer.ts maxInboxRows': ['sessions/test/commands/steer.test.ts', 'S32: an inbox with 1,000'],
  'sessions/stores/file/file-rows.ts maxRowBytes': ['testing/src/row-kit/changes.ts', 'S49: a body beyond the limit'],
  'sessions/stores/sqlite/sqlite-rows.ts maxRowBytes': ['testing/src/row-kit/changes.ts', 'S49: a body beyond the limit'],
  'postgres/store/postgres-options.ts mostConnections': ['postgres/test/arguments.test.ts', 'S208: a pool has at most'],
  'postgres/store/postgres-options.ts maxRecordBytes': ['testing/src/row-kit/changes.ts', 'S49: a body beyond the limit'],
}

/** Those with a row in the table of `sessions/test/limits.test.ts`, which tries the highest accepted size and one more. */
const refusedByTable = `
    sessions/commands/check-options.ts mostOnPage
    sessions/commands/history.ts mostMessages
    sessions/commands/schedules/schedule-record.ts maxIdBytes
    sessions/commands/tree/labels.ts longestLabel
    sessions/commands/webhook.ts mostSecrets
    sessions/contract/check-query.ts mostOnPage
    sessions/contract/check-state.ts maxBytes
    sessions/contract/paging.ts highestLimit
    sessions/keys.ts maxKeyBytes
    sessions/keys.ts maxChildKeyBytes
    sessions/keys.ts maxInputIdBytes
    sessions/keys.ts maxEntryIdCharacters
    sessions/memories/check-options.ts limits
    sessions/memories/scope.ts maxBytes
    sessions/memories/vectors.ts mostNumbers
    sessions/net/webhook-signature.ts mostSignatures`

/** Bounds that hold nothing for longer than one call, run or turn, by what happens at them. */
const passing: Readonly<Record<string, string>> = {
  'refuses the value or the work': `
    agent-loop/plugins/output/json-reader.ts maxDepth
    bridge/executors/in-process.ts usualLimits
    bridge/executors/worker.ts standardLimits
    bridge/executors/worker/event-parts.ts maxCharacters
    bridge/executors/worker/turn.ts maxKeptCharacters
    bridge/executors/worker/wire.ts maxLineBytes
    bridge/mcp/work-tools.ts maxStatusIds
    bridge/owner-limits.ts usualMaxSessions
    client/sse-parser.ts maxLineBytes
    llm/tools/json-schema-checker.ts maxParts
    llm/tools/linear-pattern.ts maxPatternLength
    llm/tools/linear-pattern.ts maxInstructions
    llm/tools/linear-pattern.ts maxInstructionsInAll
    llm/tools/schema-fault.ts maxParts
    llm/tools/schema-fault.ts maxDepth
    llm/tools/schema-fault.ts maxExpandedParts
    llm/tools/schema-walk.ts maxSteps
    server/chat/chat-input-id.ts maxInputIdBytes
    server/chat/chat-request.ts maxIdCharacters
    server/config/settings.ts maxPort
    server/execute/take-files.ts maxAddresses
    server/execute/take-files.ts maxFetchedBytes
    server/http/app.ts maxUrlLength
    server/http/validate.ts maxKeys
    server/limits.ts defaultLimits
    server/node/serve.ts maxHeaderBytes
    server/node/serve.ts maxPort
    server/routes/sessions.ts maxSessions
    server/routes/tree.ts maxBranches
    server/session-keys.ts maxChildIdCharacters
    server/wire/fields.ts maxItems
    server/wire/fields.ts maxNameCharacters
    server/wire/model-requests.ts maxRequests
    server/wire/notices.ts maxNotices
    server/wire/requests.ts maxTools
    server/wire/requests.ts maxToolBytes
    server/wire/schedules.ts maxIdCharacters
    server/wire/schedules.ts maxRuleCharacters
    server/wire/session-requests.ts maxIdCharacters
    server/wire/session-requests.ts maxInstructions
    server/wire/session-requests.ts maxTurns
    server/wire/session-requests.ts maxLabelCharacters
    server/wire/session-requests.ts maxMessages`,
  'cuts the text or the list': `
    agent-loop/kernel/model-call.ts longestId
    agent-loop/plugins/compaction/facts.ts longestValue
    agent-loop/plugins/compaction/summary.ts longestOutput
    agent-loop/plugins/guardrails/loop-guard.ts longestKey
    agent-loop/plugins/subagents/delegate-tools.ts maxOutputCharacters
    agent-loop/transcript/estimate.ts mostTokensPerCharacter
    bridge/delegate-tool.ts maxDescribed
    bridge/delegate-tool.ts maxDescription
    bridge/executors/worker/start-failure.ts maxCharacters
    bridge/executors/worker/stderr-ring.ts ringBytes
    bridge/mcp/instructions.ts maxAgents
    bridge/mcp/instructions.ts maxCharacters
    bridge/mcp/report-progress.ts mostProgress
    bridge/missing-agent.ts maxNamed
    bridge/redact-cause.ts maxDepth
    bridge/redact-cause.ts maxEntries
    client/problem.ts maxProblemCharacters
    llm/arguments.ts maxMistakes
    llm/arguments.ts longestShown
    llm/arguments.ts mostListed
    llm/errors/error-kinds.ts longestMessage
    llm/errors/error-kinds.ts longestName
    llm/errors/shapes.ts longestMessage
    llm/models/model-ref.ts longestQuote
    llm/prompt/cache-marks.ts mostMarks
    llm/prompt/call-ids.ts longestId
    llm/stream/abort-reason.ts longestReason
    llm/tools/object-check.ts maxNamesShown
    llm/tools/schema-walk.ts maxIssues
    server/bin/diagnose.ts mostCounted
    server/bin/diagnose.ts mostNamed
    server/problems.ts maxFaults
    server/problems.ts maxFaultLength
    sessions/children/background-tools.ts maxTextCharacters
    sessions/commands/inspect/inspect-session.ts mostEnded
    sessions/memories/extension.ts mostShown
    sessions/memories/memories.ts mostCandidates
    sessions/memories/note-record.ts changesKept
    sessions/memories/tools.ts mostCharactersFound
    sessions/memories/tools.ts mostFound
    sessions/memories/words.ts longest
    sessions/requests/plain-request.ts longestData
    sessions/stores/file/file-names.ts longestReadable
    postgres/store/check-database.ts mostCounted
    sessions/writer/reminders.ts mostNamed`,
  'goes on in the next portion': `
    agent-loop/run/inbox.ts mostOf
    bridge/worker/update-sender.ts maxDeltaCharacters
    bridge/worker/update-sender.ts maxJsonCharacters
    client/run.ts maxDeltaBytes
    client/whole-state.ts limit
    server/auth/tickets.ts sweepLimit
    server/http/app.ts maxPreflightAgeSeconds
    sessions/commands/tree/session-copy.ts mostEntries
    sessions/commands/tree/session-copy.ts mostCharacters
    sessions/contract/paging.ts defaultLimit
    sessions/json.ts usualDepth
    sessions/memories/note-store.ts pageLimit
    sessions/runtime/courier.ts mostPerWebhook
    sessions/runtime/courier.ts mostOfSessions
    sessions/stores/file/log-file.ts mostBytesPerByte
    sessions/stores/file/log-line.ts longestHead
    sessions/stores/file/session-files.ts mostJournalBytes
    sessions/stores/file/session-files.ts mostSyncsAtOnce
    sessions/stores/file/write-queue.ts mostPerGroup
    sessions/rows/memory-rows.ts mostPerTurn
    sessions/rows/sorted-rows.ts mostPerChunk
    sessions/rows/sql/statements.ts mostBytesPerUnit
    sessions/core/lists.ts mostUnmarked
    sessions/core/prune.ts mostNotices
    sessions/core/session-lists.ts mostSorted
    postgres/store/hint-format.ts mostBytes
    sessions/core/records.ts mostCharacters
    sessions/stores/sqlite/group-commit.ts mostAtOnce`,
  'gives up with an error': `
    agent-loop/journal/turn-log.ts mostEndTries
    bridge/executors/worker/heartbeat.ts maxMissed
    server/rate/state-rate-limiter.ts mostTries
    sessions/contract/retry-on-conflict.ts maxTries
    sessions/core/transact.ts mostTries
    sessions/memories/note-store.ts highestTries
    sessions/orchestration/records.ts highestTries
    postgres/store/pipeline.ts mostTries
    postgres/store/registration.ts mostAttempts
    redis/redis/script-state-store.ts mostTries`,
  'is no bound': `
    agent-loop/plugins/limits/limits.ts limitsPlugin
    bridge/executors/executor.ts limitChecks
    llm/prompt/to-prompt.ts nothingKept
    sessions/requests/request-log.ts highest`,
}

/** Collections of objects and modules, by what empties them. */
const collections: Readonly<Record<string, string>> = {
  'a bound above': `
    agent-loop/plugins/prompt/cache.ts #entries
    bridge/agent-directory.ts #told
    bridge/sessions/unattached-sessions.ts #known
    llm/models/recently-used.ts #entries
    server/rate/running-runs.ts #tenants
    server/sse/shared-frames.ts #stored
    sessions/commands/run-driver.ts #drivers
    sessions/orchestration/id-queues.ts #queues
    sessions/requests/record-requests.ts #logs
    sessions/runtime/failing-receivers.ts #receivers
    sessions/runtime/tenant-budgets.ts #accounts
    postgres/store/hint-sender.ts #waiting
    postgres/store/hint-sender.ts #sentAt
    sessions/stores/sqlite/row-cache.ts #rows
    sessions/writer/conversations.ts #bySession`,
  'the options maxRequestRecords and retentionMs of a bridge': `
    bridge/records/retention.ts #kept`,
  'the end of the call, turn or run that made them': `
    sessions/core/commit.ts #appended
    sessions/core/commit.ts #heads
    sessions/core/commit.ts #ids
    sessions/core/commit.ts #inputs
    sessions/core/work.ts inputs
    sessions/core/transact.ts #last
    agent-loop/kernel/model-call.ts #given
    agent-loop/kernel/model-call.ts #taken
    agent-loop/kernel/stop-switch.ts #onStop
    agent-loop/kernel/stop-switch.ts #onLost
    agent-loop/kernel/stop-switch.ts #followed
    agent-loop/kernel/turn.ts wishes
    agent-loop/plugins/extensions/call-handlers.ts #brokenObservers
    agent-loop/plugins/extensions/call-handlers.ts #listeners
    agent-loop/plugins/extensions/extension-context.ts #records
    agent-loop/plugins/extensions/extension-context.ts #texts
    agent-loop/plugins/extensions/extension-context.ts #broken
    agent-loop/plugins/guardrails/run-guardrails.ts #refusedBy
    agent-loop/run/delta-source.ts #blocks
    agent-loop/run/event-log.ts #messages
    agent-loop/run/event-log.ts #calls
    agent-loop/run/run-parts.ts children
    agent-loop/transcript/guard.ts #messageIds
    agent-loop/transcript/guard.ts #taken
    agent-loop/transcript/guard.ts #next
    agent-loop/transcript/repair.ts #queues
    llm/prompt/call-ids.ts #taken
    llm/prompt/call-ids.ts #next
    llm/prompt/from-model-messages.ts #byGivenId
    llm/prompt/from-model-messages.ts #asked
    llm/prompt/pair-calls.ts #queues
    llm/stream/content-builder.ts #callBlocks
    llm/stream/event-queue.ts #deltas
    llm/tools/compile-schema.ts #checks
    llm/unique-ids.ts #taken
    llm/unique-ids.ts #nextOfId
    server/chat/message-chunks.ts #blocks
    server/chat/message-fold.ts #texts
    server/chat/turn-fold.ts #stored
    server/sse/frame-form.ts #kinds
    sessions/commands/transfer/imported-tree.ts #places
    sessions/contract/cursor.ts #closed
    sessions/contract/cursor.ts #counts
    sessions/commands/transfer/imported-tree.ts #openEnds
    sessions/commands/transfer/imported-tree.ts #settled
    sessions/writer/journal-inbox.ts #given
    sessions/writer/journal-inbox.ts #announced`,
  'the end of what each entry stands for, which is itself limited': `
    bridge/agent-directory.ts #listeners
    bridge/agents/run-contexts.ts contexts
    bridge/executors/remote/remote-session.ts #runs
    bridge/requests/admission-queue.ts #queues
    bridge/requests/admission-queue.ts #running
    bridge/requests/request-registry.ts #live
    bridge/requests/waiters.ts #waiting
    bridge/sessions/session-registry.ts #live
    bridge/sessions/session-registry.ts #attaching
    bridge/sessions/session-registry.ts #inserting
    bridge/sessions/slots.ts #taken
    client/react/session-store.ts #listeners
    client/tool-runner.ts #states
    client/tool-runner.ts #running
    client/tool-runner.ts #outcomes
    client/tool-runner.ts #open
    server/rate/state-rate-limiter.ts #waiting
    server/sse/concurrency-counter.ts #counts
    server/sse/open-streams.ts #streams
    server/sse/shared-frames.ts #large
    sessions/commands/rest-watch.ts #runs
    sessions/commands/tree/partial-copy.ts underWay
    sessions/log/live-log.ts #readers
    sessions/log/live-log.ts #reads
    sessions/log/live-log.ts #watchers
    sessions/log/live-log.ts #sessions
    sessions/log/quiet-poll.ts #queues
    sessions/log/remote-deltas.ts #fetching
    sessions/runtime/active-runs.ts #active
    sessions/runtime/active-runs.ts #bySession
    sessions/runtime/claim-loop.ts #woken
    sessions/runtime/claim-loop.ts #afterwards
    sessions/runtime/leases.ts #looking
    sessions/stores/file/session-files.ts #dirty
    postgres/store/own-wakes.ts #held`,
  'the end of a call of `work`: the host limits how many it makes at a time, one for each session': `
    restate/visits.ts #visits
    sessions/runtime/session-work.ts #visits`,
  'nothing: their size is that of the configuration or of the code': `
    agent-loop/plugins/prompt/cache.ts #lookedAt
    agent-loop/transcript/estimate.ts #measured
    server/rate/rate-limits.ts #buckets
    sessions/runtime/hosts.ts #callbacks
    redis/kv/kv-server.ts #executed
    redis/redis/check-server.ts #warned
    redis/redis/redis-server.ts #executed
    redis/redis/script-state-store.ts #spaces
    sessions/stores/sqlite/state-connection.ts #prepared
    sessions/stores/sqlite/sqlite-rows.ts #prepared
    sessions/rows/sql/statements.ts #built`,
  'deletion and retention: they are what the store holds': `
    sessions/state/state-table.ts #spaces
    sessions/rows/memory-rows.ts rows
    sessions/stores/file/session-files.ts #files
    sessions/stores/file/session-files.ts #damaged`,
}

const constant = /^(?:export )?const (\w+)(?:: [^=]+)? = (?:[0-9]|\{)/
const boundName = /^(?:most|max|kept|usual|ring|limit|highest|longest)|(?:Kept|Limit|Limits)$/
const collection =
  /^(?: {2}(?:readonly |static )*(#?\w+)(?:: [^=]+)? = new (?:Map|Set)\b|(?:export )?const (\w+) = new (?:Map|Set)(?:<[^(]*>)?\(\))/

/** Returns each match in the sources as `<package>/<path in src> <name>`. Kits and doubles for tests are left out. */
function found(nameIn: (line: string) => string | undefined): string[] {
  const files = globSync('*/src/**/*.{ts,tsx}', { cwd: root }).filter(
    (file) => !file.includes('/src/testing/') && !file.startsWith('testing/'),
  )
  return files
    .flatMap((file) => {
      const names = readFileSync(join(root, file), 'utf8')
        .split('\n')
        .flatMap((line) => nameIn(line) ?? [])
      return names.map((name) => `${file.replace('/src/', '/')} ${name}`)
    })
    .sort()
}

function listed(table: Readonly<Record<string, string>>): string[] {
  return Object.values(table).flatMap((text) =>
    text
      .trim()
      .split('\n')
      .map((line) => line.trim()),
  )
}

describe('bounds', () => {
  it('each bound by its name has a row, and each row a bound', () => {
    const bounds = found((line) => {
      const name = constant.exec(line)?.[1]
      return name !== undefined && boundName.test(name) && !name.endsWith('Ms') ? name : undefined
    })
    expect([...Object.keys(remembered), ...Object.keys(refused), ...listed({ ...passing, refusedByTable })].sort()).toEqual(bounds)
  })

  it('each collection that outlives a call has a row, and each row a collection', () => {
    const names = found((line) => {
      const [, field, name = field] = collection.exec(line) ?? []
      return name
    })
    expect(listed(collections).sort()).toEqual(names)
  })

  const tests = [
    ...Object.entries(remembered).map(([bound, [, file, test]]) => [bound, file, test] as const),
    ...Object.entries(refused).map(([bound, where]) => [bound, ...where] as const),
  ]
  it.each(tests)('%s is reached by a test', (_bound, file, test) => {
    const path = join(root, file)
    const names = [...readFileSync(path, 'utf8').matchAll(/^\s*it(?:\.each\(.*\))?\('(.*)', /gm)].map(([, name = '']) => name)
    expect(
      names.filter((name) => name.startsWith(test)),
      `${file}: ${test}`,
    ).toHaveLength(1)
  })

  it('each bound of the table of limits has a row in it, and each row a bound', () => {
    const table = readFileSync(join(root, 'sessions/test/limits.test.ts'), 'utf8')
    const rows = [...table.matchAll(/^ {2}\[\s*'([^']+)',\s*[\d_]+,/gm)].map(([, bound = '']) => `sessions/${bound}`)
    expect([...new Set(rows)].sort()).toEqual(listed({ refusedByTable }).sort())
  })
})
