import type { Message } from '@bowline/llm'
import { clientCalls, copyJson, isRecord, NotJsonError } from '@bowline/agent-loop/internal'
import { checkBoolean, checkKeys, checkRequired } from './checks.ts'

/** Tells whether the transcript may end within a turn. */
export interface CheckTranscriptOptions {
  /** True: the last answer may have calls without results, as in a suspended turn. Default false. */
  readonly openCalls?: boolean
}

/**
 * Checks that ids are unique and that calls and results are paired. Returns the problems; the list is empty if the transcript is
 * correct.
 */
export function checkTranscript(messages: readonly Message[], options: CheckTranscriptOptions = {}): readonly string[] {
  checkRequired('messages', messages, 'a list of messages', Array.isArray)
  for (const [place, message] of messages.entries()) checkRequired(`messages[${place}]`, message, 'a message', isRecord)
  checkKeys('checkTranscript.options', options, ['openCalls'])
  checkBoolean('openCalls', options.openCalls)
  const problems = [...notJson(messages), ...repeatedIds(messages)]
  let expected: { id: string; name: string; brokenBy: string | undefined }[] = []
  for (const [place, message] of messages.entries()) {
    if (message.role !== 'tool-result') {
      problems.push(...expected.map(({ id }) => `${place}: the call ${id} has no result before this message`))
      const brokenBy =
        message.role === 'assistant' && ['error', 'aborted', 'length'].includes(message.stopReason) ? message.stopReason : undefined
      const calls = message.role === 'assistant' ? clientCalls(message) : []
      expected = calls.map((call) => ({ id: call.toolCallId, name: call.toolName, brokenBy }))
      continue
    }
    const next = expected.shift()
    if (next?.id !== message.toolCallId)
      problems.push(
        `${place}: is the result of the call ${message.toolCallId}, ${next ? `expected the call ${next.id}` : 'but no call is open'}`,
      )
    else if (next.name !== message.toolName)
      problems.push(`${place}: has toolName ${message.toolName}, but the call ${next.id} has ${next.name}`)
    else if (next.brokenBy && 'status' in message && message.status === 'result')
      problems.push(`${place}: has status "result", but the answer with the call ${next.id} has stopReason "${next.brokenBy}"`)
  }
  if (!options.openCalls) problems.push(...expected.map(({ id }) => `end: the call ${id} has no result`))
  return problems
}

function notJson(messages: readonly Message[]): readonly string[] {
  try {
    copyJson(messages)
    return []
  } catch (error) {
    if (error instanceof NotJsonError) return [error.message]
    throw error
  }
}

function repeatedIds(messages: readonly Message[]): readonly string[] {
  const ids = messages.map((message) => message.id ?? '')
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? clientCalls(message).map((call) => call.toolCallId) : []))
  return [...repeats('message', ids), ...repeats('call', calls)]
}

function repeats(kind: string, ids: readonly string[]): readonly string[] {
  const empty = ids.filter((id) => id === '').map(() => `a ${kind} has an empty id`)
  const twice = ids.filter((id, place) => id !== '' && ids.indexOf(id) !== place).map((id) => `the ${kind} id ${id} is used twice`)
  return [...empty, ...twice]
}
