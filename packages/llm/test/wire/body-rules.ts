import type { JSONObject } from '../../src/index.ts'
import type { WireName } from './raw-bodies.ts'

type Block = Readonly<Record<string, unknown>> & { readonly type?: string }

/**
 * Returns the faults in the history of a request that the vendor's server rejects with status 400. Returns an empty list for an
 * acceptable request.
 */
export function bodyProblems(wire: WireName, body: JSONObject): string[] {
  return [...rules[wire](body), ...(isWellFormed(body) ? [] : ['the body holds a lone surrogate'])]
}

const rules: Readonly<Record<WireName, (body: JSONObject) => string[]>> = {
  anthropic: ({ system = [], messages }) => [
    ...anthropicProblems(messages as unknown as readonly AnthropicMessage[]),
    ...blankTexts('system', system as unknown as readonly Block[]),
  ],
  'openai chat': ({ messages }) => chatProblems(messages as unknown as readonly ChatMessage[]),
  'openai-compatible': ({ messages }) => chatProblems(messages as unknown as readonly ChatMessage[]),
  'openai responses': ({ input }) => responsesProblems(input as unknown as readonly Block[]),
  google: ({ contents }) => googleProblems(contents as unknown as readonly GoogleContent[]),
}

interface AnthropicMessage {
  readonly role: string
  readonly content: readonly Block[]
}

function anthropicProblems(messages: readonly AnthropicMessage[]): string[] {
  const problems: string[] = []
  const used = new Set<unknown>()
  const open = new Set<unknown>()
  for (const [index, { role, content }] of messages.entries()) {
    const before = messages[index - 1]
    const asked = before?.role === 'assistant' ? idsOf(before.content, 'tool_use', 'id') : []
    const answered = idsOf(content, 'tool_result', 'tool_use_id')
    const leading = content.findIndex(({ type }) => type !== 'tool_result')
    if (content.length === 0) problems.push(`messages.${index}: content must not be empty`)
    if (!sameMembers(asked, answered)) {
      problems.push(`messages.${index}: results ${answered.join()}, calls ${asked.join()}`)
    }
    if (leading !== -1 && leading < answered.length) problems.push(`messages.${index}: results must come first`)
    problems.push(...blankTexts(`messages.${index}`, content))
    if (role === 'user' && open.size > 0 && answered.length === 0) {
      problems.push(`messages.${index}: ${[...open].join()} has no result`)
    }
    for (const block of content) {
      if (block.type === 'tool_use' || block.type === 'server_tool_use') {
        const id = String(block['id'])
        if (used.has(id)) problems.push(`messages.${index}: \`tool_use\` ids must be unique`)
        used.add(id)
        const form = block.type === 'tool_use' ? /^[\w-]+$/ : /^srvtoolu_\w+$/
        if (!form.test(id)) problems.push(`messages.${index}: the id ${id} has a bad form`)
      }
      if (block.type === 'server_tool_use') open.add(block['id'])
      if (block.type === 'web_search_tool_result' && !open.delete(block['tool_use_id'])) {
        problems.push(`messages.${index}: ${String(block['tool_use_id'])} was not called`)
      }
    }
    const last = content.at(-1)?.type
    if (role === 'assistant' && (last === 'thinking' || last === 'redacted_thinking')) {
      problems.push(`messages.${index}: the final block cannot be thinking`)
    }
  }
  const unanswered = idsOf(messages.at(-1)?.content ?? [], 'tool_use', 'id')
  return unanswered.length > 0 ? [...problems, 'the last calls have no results'] : problems
}

const idsOf = (blocks: readonly Block[], type: string, key: string): unknown[] =>
  blocks.filter((block) => block.type === type).map((block) => block[key])

function blankTexts(where: string, blocks: readonly Block[]): string[] {
  return blocks.flatMap((block): string[] => {
    if (block.type === 'text' && String(block['text']).trim() === '') return [`${where}: text must not be blank`]
    const { content } = block
    return block.type === 'tool_result' && Array.isArray(content) ? blankTexts(where, content as Block[]) : []
  })
}

interface ChatMessage {
  readonly role: string
  readonly content: unknown
  readonly tool_calls?: readonly { readonly id: string; readonly function: { readonly arguments: string } }[]
  readonly tool_call_id?: string
}

function chatProblems(messages: readonly ChatMessage[]): string[] {
  const problems: string[] = []
  let awaited: string[] = []
  for (const [index, { role, content, tool_calls: calls, tool_call_id: answered }] of messages.entries()) {
    if (role === 'tool') {
      if (!awaited.includes(answered ?? '')) problems.push(`messages[${index}]: no call ${answered} precedes`)
      if (typeof content !== 'string') problems.push(`messages[${index}]: a result must have content`)
      awaited = awaited.filter((id) => id !== answered)
      continue
    }
    if (awaited.length > 0) problems.push(`messages[${index}]: no response to ${awaited.join()}`)
    awaited = (calls ?? []).map(({ id }) => id)
    if (new Set(awaited).size < awaited.length) problems.push(`messages[${index}]: ids must be unique`)
    problems.push(...awaited.filter((id) => !/^[\w-]{1,40}$/.test(id)).map((id) => `the id ${id} has a bad form`))
    if (role === 'assistant' && !calls && typeof content !== 'string') problems.push(`messages[${index}]: no content`)
    if (role === 'user' && (content as string | unknown[]).length === 0) problems.push(`messages[${index}]: no content`)
  }
  return awaited.length > 0 ? [...problems, `no response to ${awaited.join()}`] : problems
}

function responsesProblems(input: readonly Block[]): string[] {
  const problems: string[] = []
  const calls = idsOf(input, 'function_call', 'call_id')
  const outputs = idsOf(input, 'function_call_output', 'call_id')
  if (new Set(calls).size < calls.length) problems.push('call ids must be unique')
  if (!sameMembers(calls, outputs)) problems.push(`outputs ${outputs.join()} for calls ${calls.join()}`)
  problems.push(...calls.filter((id) => !/^[\w-]{1,64}$/.test(String(id))).map((id) => `bad call id ${String(id)}`))
  for (const [index, item] of input.entries()) {
    const next = input[index + 1]
    if (item.type === 'function_call_output' && !calls.slice(0, index).includes(item['call_id'])) {
      problems.push(`input[${index}]: no call ${String(item['call_id'])}`)
    }
    const ends = !next || next['role'] === 'user' || next.type === 'function_call_output'
    if (isReasoning(item) && ends) problems.push(`input[${index}]: reasoning without its following item`)
  }
  return problems
}

const isReasoning = (item: Block): boolean =>
  item.type === 'reasoning' || (item.type === 'item_reference' && String(item['id']).startsWith('rs_'))

interface GoogleContent {
  readonly role: string
  readonly parts: readonly {
    readonly functionCall?: { readonly id?: string; readonly name: string }
    readonly functionResponse?: { readonly id?: string; readonly name: string }
  }[]
}

function googleProblems(contents: readonly GoogleContent[]): string[] {
  const problems: string[] = []
  for (const [index, { parts }] of contents.entries()) {
    const before = contents[index - 1]
    const calls = parts.flatMap(({ functionCall }) => functionCall ?? [])
    const asked = before?.parts.flatMap(({ functionCall }) => functionCall ?? []) ?? []
    const responses = parts.flatMap(({ functionResponse }) => functionResponse ?? [])
    if (parts.length === 0) problems.push(`contents[${index}]: parts must not be empty`)
    if (calls.length > 0 && before?.role !== 'user') problems.push(`contents[${index}]: calls must follow a user turn`)
    if (asked.length !== responses.length) {
      problems.push(`contents[${index}]: ${responses.length} responses for ${asked.length} calls`)
    }
    if (responses.some(({ id, name }, place) => id !== asked[place]?.id || name !== asked[place]?.name)) {
      problems.push(`contents[${index}]: responses must match the calls`)
    }
  }
  if (contents.at(-1)?.parts.some(({ functionCall }) => functionCall)) problems.push('the last calls have no responses')
  return problems
}

function sameMembers(left: readonly unknown[], right: readonly unknown[]): boolean {
  return JSON.stringify([...left].sort()) === JSON.stringify([...right].sort())
}

/** In JSON text, a lone surrogate remains as an escape. Signed reasoning is excluded, because it is sent back unchanged. */
function isWellFormed(body: JSONObject): boolean {
  const isThought = (value: unknown): boolean => typeof value === 'object' && value !== null && ('thinking' in value || 'thought' in value)
  const json = JSON.stringify(body, (_key, value: unknown) => (isThought(value) ? undefined : value))
  return !/\\ud[89a-f]/i.test(json)
}
