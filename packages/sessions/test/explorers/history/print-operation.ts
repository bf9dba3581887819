import type { Expect } from '../../../src/contract/batch.ts'
import type { BatchFacts, CommitFacts, HistoryOperation, WriteFacts } from './operations.ts'

/** Prints an operation in one line: id, times, call and answer. */
export function printOperation({ id, calledAt, returnedAt, call, answer }: HistoryOperation): string {
  const when = `[${calledAt} … ${returnedAt === Infinity ? 'no answer' : returnedAt}]`
  if (call.what === 'commit')
    return `${id} ${when} commit ${printBatch(call.batch)}${answer ? ` → ${printCommit(answer as CommitFacts)}` : ''}`
  const { what, ...asked } = call
  return `${id} ${when} ${what} ${plain(asked)}${answer ? ` → ${plain(answer)}` : ''}`
}

function printBatch({ id, key, expect, writes, deliver = [] }: BatchFacts): string {
  const expected = expect.length > 0 ? ` if ${expect.map(printExpect).join(', ')}` : ''
  const delivered = deliver.map((each) => `; to ${each.to}: ${each.writes.map(printWrite).join(', ')}`).join('')
  return `${id} of ${key}: ${writes.map(printWrite).join(', ')}${delivered}${expected}`
}

function printExpect({ that, ...rest }: Expect): string {
  return [that, ...(Object.values(rest) as unknown[])].join(' ')
}

function printWrite(write: WriteFacts): string {
  switch (write.op) {
    case 'event.append':
      return write.events.map(({ type, runId = '' }) => `${type} ${runId}`.trim()).join(' + ')
    case 'entry.append':
      return `entries ${write.entries.map(({ id }) => id).join(' ')}`
    case 'call.put':
      return write.calls.map(({ toolCallId, state }) => `call ${toolCallId} ${state}`).join(' + ')
    default: {
      const { op, ...rest } = write
      return `${op} ${plain(rest)}`
    }
  }
}

function printCommit(answer: CommitFacts): string {
  if (!answer.ok) return `refused (${answer.reason})`
  const events = answer.lastSeq < answer.firstSeq ? 'no event' : `events ${answer.firstSeq} to ${answer.lastSeq}`
  return answer.existing === undefined ? `version ${answer.version}, ${events}` : `known as ${answer.existing}`
}

/** Prints JSON without quotation marks. */
function plain(value: object): string {
  return JSON.stringify(value).replaceAll('"', '')
}
