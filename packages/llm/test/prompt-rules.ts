import type { LanguageModelV4Prompt } from '../src/index.ts'

type PromptMessage = LanguageModelV4Prompt[number]
type AssistantContent = Extract<PromptMessage, { role: 'assistant' }>['content']

/** Returns faults of a prompt that every provider rejects, whatever its client does. */
export function promptProblems(prompt: LanguageModelV4Prompt): string[] {
  return [
    ...roleProblems(prompt),
    ...pairProblems(prompt),
    ...providerPairProblems(prompt),
    ...idProblems(prompt),
    ...prompt.flatMap(contentProblems),
  ]
}

const clientCalls = (content: AssistantContent): string[] =>
  content.flatMap((part) => (part.type === 'tool-call' && !part.providerExecuted ? [part.toolCallId] : []))

function roleProblems(prompt: LanguageModelV4Prompt): string[] {
  const firstOther = prompt.findIndex(({ role }) => role !== 'system')
  return prompt.flatMap(({ role }, index) =>
    role === 'system' && firstOther !== -1 && index > firstOther ? [`message ${index} gives instructions late`] : [],
  )
}

function pairProblems(prompt: LanguageModelV4Prompt): string[] {
  return prompt
    .flatMap((message, index) => {
      const before = prompt[index - 1]
      const calls = before?.role === 'assistant' ? clientCalls(before.content) : []
      const results =
        message.role === 'tool' ? message.content.map((part) => (part.type === 'tool-result' ? part.toolCallId : part.type)) : []
      return JSON.stringify(calls) === JSON.stringify(results)
        ? []
        : [`message ${index} answers ${results.join()} where ${calls.join()} was called`]
    })
    .concat(endsWithCalls(prompt) ? ['the last message calls tools that nobody answers'] : [])
}

function endsWithCalls(prompt: LanguageModelV4Prompt): boolean {
  const last = prompt.at(-1)
  return last?.role === 'assistant' && clientCalls(last.content).length > 0
}

/** A result of a provider-executed tool must follow its call. Only the newest turn may leave a call open. */
function providerPairProblems(prompt: LanguageModelV4Prompt): string[] {
  const problems: string[] = []
  let open = new Set<string>()
  for (const [index, message] of prompt.entries()) {
    if (message.role === 'user' && open.size > 0) problems.push(`message ${index} leaves ${[...open].join()} open`)
    if (message.role !== 'assistant') continue
    const before = open
    open = new Set()
    for (const part of message.content) {
      if (part.type === 'tool-call' && part.providerExecuted) open.add(part.toolCallId)
      if (part.type !== 'tool-result') continue
      if (!open.delete(part.toolCallId) && !before.delete(part.toolCallId)) {
        problems.push(`message ${index} has the result of ${part.toolCallId}, which was not called`)
      }
    }
    if (before.size > 0) problems.push(`message ${index} goes on without results for ${[...before].join()}`)
  }
  return problems
}

function idProblems(prompt: LanguageModelV4Prompt): string[] {
  const ids = prompt.flatMap((message) =>
    message.role === 'assistant' ? message.content.flatMap((part) => (part.type === 'tool-call' ? [part.toolCallId] : [])) : [],
  )
  return [
    ...ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `the id ${id} is used twice`),
    ...ids.filter((id) => !/^[\w-]{1,40}$/.test(id)).map((id) => `no provider takes the id ${id}`),
  ]
}

function contentProblems({ content, role }: PromptMessage, index: number): string[] {
  const problems: string[] = []
  if (typeof content === 'string' || content.length === 0) {
    return content.length === 0 || (content as string).trim() === '' ? [`message ${index} is empty`] : []
  }
  for (const part of content) {
    const metadata = 'providerOptions' in part && part.providerOptions
    if (part.type === 'text' && part.text.trim() === '' && !metadata) problems.push(`message ${index} has a blank text`)
    const isSigned = part.type === 'reasoning' && metadata
    if (!isSigned && !isWellFormed(part)) problems.push(`message ${index} has a lone surrogate`)
    if (part.type === 'tool-result' && part.output.type === 'content' && part.output.value.length === 0) {
      problems.push(`message ${index} has a result without items`)
    }
  }
  const last = content.at(-1)
  if (role === 'assistant' && last?.type === 'reasoning' && last.providerOptions) {
    problems.push(`message ${index} ends with signed reasoning`)
  }
  return problems
}

/** In JSON text, a lone surrogate remains as an escape. */
function isWellFormed(value: unknown): boolean {
  return !/\\ud[89a-f]/i.test(JSON.stringify(value))
}
