import { SessionError } from '../../../src/errors.ts'
import type { History, HistoryOperation } from './operations.ts'
import type { HistoryLine } from './recording.ts'

/**
 * Returns the merged history of several processes, one text each. Drops an unfinished last line of a killed process. Throws
 * `invalid-input` for any other faulty line.
 */
export function readHistory(texts: readonly string[]): History {
  return historyOf(texts.flatMap((text, index) => linesOf(text, `texts[${index}]`)))
}

/** Builds a history from lines. The lines of each process must be in order. */
export function historyOf(lines: Iterable<HistoryLine>): History {
  const operations = new Map<string, HistoryOperation>()
  for (const line of lines) take(operations, line)
  return [...operations.values()].sort((a, b) => a.calledAt - b.calledAt)
}

function linesOf(text: string, path: string): readonly HistoryLine[] {
  const lines = text.split('\n')
  // Only the last line can be incomplete, if no line feed follows it.
  const whole = parseJson(lines.at(-1) ?? '') === undefined ? lines.slice(0, -1) : lines
  return whole.filter((line) => line !== '').map((line, index) => parseLine(line, `${path}, line ${index + 1}`))
}

function parseLine(line: string, where: string): HistoryLine {
  const parsed = parseJson(line)
  const { process, n, at } = (parsed ?? {}) as Partial<HistoryLine>
  if (typeof process !== 'string' || typeof n !== 'number' || typeof at !== 'number') {
    throw new SessionError('invalid-input', `${where} is no line of a history. Give the lines as recordHistory wrote them.`)
  }
  return parsed as HistoryLine
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function take(
  operations: Map<string, HistoryOperation>,
  { process, n, at, namespace = 'default', call, answer, didNothing }: HistoryLine,
): void {
  const id = `${process}#${n}`
  const before = operations.get(id)
  if (call && before)
    throw new SessionError('invalid-input', `Two calls have the name ${id}. Give each start of a process a name of its own.`)
  const operation = before ?? (call && { id, process, namespace, calledAt: at, returnedAt: Infinity, call })
  if (!operation) throw new SessionError('invalid-input', `${id} has an answer and no call.`)
  if (didNothing) operations.delete(id)
  else operations.set(id, answer ? { ...operation, returnedAt: at, answer } : operation)
}
