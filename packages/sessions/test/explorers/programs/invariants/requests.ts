import { canonicalJson } from '@bowline/agent-loop'
import type { JSONValue } from '@bowline/llm'
import type { RecordedRequest } from '../../../../src/requests/types.ts'
import type { ProgramEnd, ProgramInvariant } from '../program-end.ts'

/**
 * Checks that recorded requests are readable and equal to those that the models got. A call may lack its record only if an
 * `error` event says so.
 */
export const requestsAreRecorded: ProgramInvariant = {
  name: 'each request to a model is recorded as it was sent',
  check(end) {
    const { program, requests } = end
    if (!program.setup.records) return []
    const recorded = requests.flatMap(({ whole }) => whole)
    return [
      ...requests.flatMap(({ key, thrown }) => (thrown === undefined ? [] : [`the requests of ${key} cannot be read: ${thrown}`])),
      ...twice(recorded),
      ...unlike(end, recorded),
      ...(deletes(end) ? [] : [...unreadable(end), ...foreign(end, recorded), ...lacking(end, recorded)]),
    ]
  },
}

/**
 * Returns true if the program deletes sessions. Their logs and requests are deleted too, but a call in progress may leave its
 * own request.
 */
function deletes({ program }: ProgramEnd): boolean {
  return program.steps.some((step) => step.do === 'delete')
}

function unreadable({ requests }: ProgramEnd): readonly string[] {
  return requests.flatMap(({ key, unreadable: ids }) => ids.map((id) => `the request ${id} of ${key} is listed, but cannot be read`))
}

function twice(recorded: readonly RecordedRequest[]): readonly string[] {
  const ids = recorded.map(({ id }) => id)
  return ids.filter((id, place) => ids.indexOf(id) < place).map((id) => `the request ${id} is recorded twice`)
}

/** Checks requests whose answer was stored. Others may be recorded but not sent, because their process died. */
function unlike({ prompts, sessions }: ProgramEnd, recorded: readonly RecordedRequest[]): readonly string[] {
  const answered = new Set(answersIn(sessions))
  const sent = new Set(prompts.map((prompt) => canonicalJson(JSON.parse(prompt) as JSONValue)))
  return recorded.flatMap(({ id, prompt }) =>
    answered.has(id) && !sent.has(canonicalJson(prompt))
      ? [`the recorded prompt of the request ${id} differs from every prompt that was sent`]
      : [],
  )
}

/**
 * Checks that each request belongs to a call in a log. With `durability: 'turn'` a crash can remove the start of a message. A
 * summary of a branch that was not left has no event.
 */
function foreign({ sessions, program }: ProgramEnd, recorded: readonly RecordedRequest[]): readonly string[] {
  if (program.setup.durability === 'turn') return []
  const known = new Set(
    sessions.flatMap(({ log }) =>
      log.flatMap((event) =>
        event.type === 'message-start' ? event.messageId : event.type === 'compaction-start' ? event.compactionId : [],
      ),
    ),
  )
  return recorded.flatMap(({ id, purpose }) =>
    purpose === 'branch-summary' || known.has(id) ? [] : [`the request ${id} has no message-start or compaction-start in a log`],
  )
}

function lacking({ sessions }: ProgramEnd, recorded: readonly RecordedRequest[]): readonly string[] {
  const told = sessions.flatMap(({ log }) =>
    log.filter((event) => event.type === 'error' && event.source === 'extension' && event.name === 'requests'),
  )
  const ids = new Set(recorded.map(({ id }) => id))
  const missing = answersIn(sessions).filter((id) => !ids.has(id))
  return missing.length > told.length
    ? [
        `${missing.length} answered requests are not recorded, but the logs have only ${told.length} errors of the recorder: ${missing.join(', ')}`,
      ]
    : []
}

function answersIn(sessions: ProgramEnd['sessions']): readonly string[] {
  return [
    ...new Set(
      sessions.flatMap(({ log }) =>
        log.flatMap((event) => {
          if (event.type === 'message-end')
            return event.message.role === 'assistant' && (event.message.stopReason === 'stop' || event.message.stopReason === 'tool-calls')
              ? event.messageId
              : []
          return event.type === 'compaction-end' && event.outcome === 'done' ? event.compactionId : []
        }),
      ),
    ),
  ]
}
