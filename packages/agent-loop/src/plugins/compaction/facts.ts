import type { JSONValue, Message, ToolCallPart } from '@bowline/llm'
import { messageOf } from '../../base/agent-error.ts'
import { isRecord } from '../../base/json.ts'
import { clientCalls, statusOfOutput } from '../../base/messages.ts'
import { dropLateFailure, isThenable } from '../../base/promises.ts'
import type { Fact } from '../../events/message-events.ts'
import type { ToolEffect } from '../../events/tool-events.ts'

/** Only the latest are kept, because facts are shown with every summary. */
const mostFacts = 500
const longestValue = 500

const pathKeys = ['path', 'paths', 'file', 'files', 'filePath', 'file_path', 'filename', 'fileName', 'file_name']
const readingWords = ['read', 'view', 'open', 'show', 'list', 'get', 'find', 'search', 'grep', 'cat', 'stat']
const changingWords = ['write', 'edit', 'create', 'patch', 'update', 'append', 'replace', 'insert', 'delete', 'remove', 'move', 'rename']

/** Returns facts that must not be lost with the messages: the tools that ran, and the files that they were given. */
export function findFacts(
  messages: readonly Message[],
  effectOf: (toolName: string) => ToolEffect | undefined,
  ownFacts?: (message: Message) => readonly Fact[],
): readonly Fact[] {
  const ran = new Set(messages.flatMap((message) => (message.role === 'tool-result' && mayHaveRun(message) ? message.toolCallId : [])))
  return messages.flatMap((message) => {
    const calls = message.role === 'assistant' ? clientCalls(message).filter(({ toolCallId }) => ran.has(toolCallId)) : []
    return [...calls.flatMap((call) => factsOfCall(call, effectOf(call.toolName))), ...(ownFacts ? factsFrom(ownFacts, message) : [])]
  })
}

function factsFrom(ownFacts: (message: Message) => readonly Fact[], message: Message): readonly Fact[] {
  try {
    return checkedFacts(ownFacts(message))
  } catch (error) {
    throw new TypeError(`compaction.facts failed: ${messageOf(error)}`, { cause: error })
  }
}

/** Returns facts that the user's code gave. Throws if they are not a list of facts. */
export function checkedFacts(given: unknown): readonly Fact[] {
  if (given === undefined) return []
  if (Array.isArray(given) && given.every(isFact)) return given
  if (isThenable(given)) dropLateFailure(given)
  throw new TypeError('facts must be a list of { kind, value }')
}

function isFact(given: unknown): given is Fact {
  return isRecord(given) && typeof given['kind'] === 'string' && typeof given['value'] === 'string'
}

/** Returns earlier facts and new ones, each once. A file that was read and modified counts as modified. */
export function mergeFacts(earlier: readonly Fact[], found: readonly Fact[]): readonly Fact[] {
  const all = [...earlier, ...found].filter(({ value }) => value.length <= longestValue)
  const modified = new Set(all.flatMap(({ kind, value }) => (kind === 'file-modified' ? value : [])))
  const merged = new Map<string, Fact>()
  for (const { kind, value } of all) {
    if (kind === 'file-read' && modified.has(value)) continue
    merged.set(JSON.stringify([kind, value]), { kind, value })
  }
  return [...merged.values()].slice(-mostFacts)
}

function mayHaveRun({ output, ...result }: Extract<Message, { role: 'tool-result' }>): boolean {
  const status = 'status' in result ? result.status : undefined
  return status === undefined ? statusOfOutput(output) === 'result' : status === 'result' || status === 'unknown'
}

function factsOfCall({ toolName, input }: ToolCallPart, effect: ToolEffect | undefined): readonly Fact[] {
  const kind = changesFiles(toolName, effect) ? 'file-modified' : 'file-read'
  return [{ kind: 'tool', value: toolName }, ...pathsOf(input).map((value) => ({ kind, value }))]
}

/** Decides by the name of the tool, or else by its effect. In doubt the file counts as modified. */
function changesFiles(toolName: string, effect: ToolEffect | undefined): boolean {
  const words = toolName
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .split(/[^a-z]+/)
  if (words.some((word) => changingWords.includes(word))) return true
  return !words.some((word) => readingWords.includes(word)) && effect !== 'pure'
}

function pathsOf(input: JSONValue): readonly string[] {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) return []
  return pathKeys.flatMap((key) => {
    const values = Object.hasOwn(input, key) ? [(input as Readonly<Record<string, JSONValue>>)[key]].flat() : []
    return values.filter((value): value is string => typeof value === 'string' && value !== '')
  })
}
