import type { JSONSchema7 } from '@bowline/llm'
import { deepFreeze } from '../../base/json.ts'
import type { AgentInput } from '../../contract/input.ts'
import type { ChildHost } from '../../contract/journal.ts'

/** What a model says when it hands work on, once it is validated. */
export interface DelegateInput {
  readonly prompt: Extract<AgentInput, string> | readonly [Part, ...Part[]]
  readonly description?: string
  readonly sessionKey?: string
  readonly run_in_background?: boolean
}

type Part = Extract<AgentInput, readonly { readonly type: string }[]>[number]

function closed(properties: Record<string, JSONSchema7>, optional: readonly string[] = []): JSONSchema7 {
  const required = Object.keys(properties).filter((key) => !optional.includes(key))
  return { type: 'object', properties, required, additionalProperties: false }
}

const text: JSONSchema7 = { type: 'string' }
const only = (value: string): JSONSchema7 => ({ type: 'string', enum: [value] })

const textPart = closed({ type: only('text'), text })
const fileData: JSONSchema7 = { anyOf: [closed({ type: only('data'), data: text }), closed({ type: only('url'), url: text })] }
const filePart = closed({ type: only('file'), mediaType: text, filename: text, data: fileData }, ['filename'])

const prompt: JSONSchema7 = {
  description: 'The task, with all that the agent needs to know: it sees nothing of this conversation.',
  anyOf: [
    { type: 'string', minLength: 1 },
    { type: 'array', minItems: 1, items: { anyOf: [textPart, filePart] } },
  ],
}

const description: JSONSchema7 = { type: 'string', description: 'The task in a few words, for whoever watches.' }

const sessionKey: JSONSchema7 = {
  description: 'Goes on with the earlier conversation that was given this key, or begins it.',
  ...{ type: 'string', pattern: '^[A-Za-z0-9_-]{1,80}$' },
}

const background: JSONSchema7 = {
  type: 'boolean',
  description: 'True: do not wait for the agent. Its result is told when it is there.',
}

type Offers = Pick<ChildHost, 'sessionKeys' | 'background'>

function schemaFor(offers: Offers): JSONSchema7 {
  const properties = {
    ...{ prompt, description },
    ...(offers.sessionKeys && { sessionKey }),
    ...(offers.background && { run_in_background: background }),
  }
  return deepFreeze(closed(properties, ['description', 'sessionKey', 'run_in_background']))
}

const schemas = [false, true].map((sessionKeys) => [false, true].map((inBackground) => schemaFor({ sessionKeys, background: inBackground })))

/** The input of delegate tools: the same object for the same offers, so that it is read once. */
export function delegateSchema({ sessionKeys, background: inBackground }: Offers): JSONSchema7 {
  return schemas[Number(sessionKeys)]?.[Number(inBackground)] as JSONSchema7
}
