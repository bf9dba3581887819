import { systemClock } from '@bowline/llm'
import type { JSONValue } from '@bowline/llm'
import { messageOf } from '../agent-error.ts'
import { checkKeys, checkOneOf, refuseConfig } from '../agent/check-options.ts'
import type { AgentDefinition } from '../agent/definition.ts'
import { orderOf } from '../agent/input.ts'
import type { AgentInput, AgentResult, AgentRun, RunOptions } from '../agent/options.ts'
import { systemIds } from '../ids.ts'
import { copyJson, deepFreeze } from '../json.ts'
import { createMemoryJournal } from '../journal/memory-journal.ts'
import { EventBuffer } from './event-buffer.ts'
import { perform } from './perform.ts'
import { releaseJournal, takeJournal } from './phases.ts'
import { StopSwitch } from './stop-switch.ts'

const optionKeys = [
  'journal',
  'messages',
  'abortSignal',
  'clock',
  'ids',
  'context',
  'sessionKey',
  'runId',
  'source',
  'onUnknownOutcome',
]

/** Starts a run. Misuse throws here, before anything is stored. */
export function startRun(agent: AgentDefinition, input: AgentInput | undefined, options: RunOptions): AgentRun {
  checkRunOptions(options)
  const order = orderOf(input)
  const { clock = systemClock, ids = systemIds, messages = [] } = options
  const journal = options.journal ?? createMemoryJournal({ messages })
  const stop = new StopSwitch()
  const buffer = new EventBuffer()
  let runId = options.runId ?? (order.kind === 'message' ? ids.next('run') : '')
  const parts = {
    ...{ agent, journal, buffer, stop, clock, ids },
    source: options.source ?? 'user',
    onUnknownOutcome: options.onUnknownOutcome ?? agent.onUnknownOutcome,
    ...(options.sessionKey !== undefined && { sessionKey: options.sessionKey }),
    ...(options.context !== undefined && { context: contextOf(options.context) }),
  }
  takeJournal(journal)
  stop.follow(options.abortSignal)
  stop.follow(journal.abortSignal)
  const result: Promise<AgentResult> = perform(parts, order, runId, (id) => (runId = id)).finally(() => {
    stop.release()
    releaseJournal(journal)
    buffer.close()
  })
  return {
    get runId() {
      return runId
    },
    events: (readerOptions) => buffer.read(readerOptions),
    [Symbol.asyncIterator]: () => buffer.read(),
    result: () => result,
    abort: (reason) => stop.stop({ kind: 'stop', ...(reason !== undefined && { reason }) }),
  }
}

function contextOf(given: JSONValue): JSONValue {
  try {
    return deepFreeze(copyJson(given))
  } catch (error) {
    return refuseConfig(`context: ${messageOf(error)}`)
  }
}

function checkRunOptions(options: RunOptions): void {
  checkKeys('a run', options, optionKeys)
  checkOneOf('onUnknownOutcome', options.onUnknownOutcome, ['stop', 'tell-model'])
  if (options.journal && options.messages) refuseConfig('a run has either a journal or messages, not both')
}
