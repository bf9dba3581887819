import { AgentError, defineTool, type ToolDeclaration } from '@bowline/agent-loop'
import { runtimeParamsSchema, type JSONObject, type RuntimeParams } from '@bowline/llm'
import { isRecord, type ArgumentCheck } from '@bowline/llm/arguments'
import { configChecks, inputChecks, longestMs, sentence } from '../arguments.ts'
import type { SessionSettings, SessionTtl } from '../contract/records.ts'
import { SessionError } from '../errors.ts'
import { checkedCopy } from '../json.ts'
import { protocolsOf, webhookFields } from './webhook.ts'

const declarationKeys = ['name', 'description', 'inputSchema', 'label', 'effect'] as const satisfies readonly (keyof ToolDeclaration)[]
const paramKeys = [
  ...(['model', 'temperature', 'maxTokens', 'topP', 'topK', 'stopSequences', 'systemPrompt', 'reasoning', 'seed'] as const),
  'providerSpecific',
] as const satisfies readonly (keyof RuntimeParams)[]

const lifeTime: ArgumentCheck = (path, value) => {
  if (value !== 'never') configChecks.checkWhole(path, value, 1, longestMs)
}

/** Throws `invalid-config` if a TTL is not a positive whole number of milliseconds. `'never'` means no expiry. */
export const checkTtl = configChecks.optionalRecord<SessionTtl>({ maxAgeMs: lifeTime, idleMs: lifeTime })

const checkSettings = inputChecks.optionalRecord<SessionSettings>({
  ttl: checkTtl,
  runtimeParams: (path, value) => void runtimeParamsOf(path, value),
  channel: inputChecks.optionalName,
  remoteTools: inputChecks.optional(checkRemoteTools),
  notify: inputChecks.optionalRecord(webhookFields(inputChecks, protocolsOf(true))),
})

type Given<Options> = { readonly [Name in keyof Options]?: Options[Name] | undefined }

/**
 * Returns a copy of the settings for storage, without absent fields. Called before a session is stored and again before a run uses
 * them. Throws an error with an `invalid-*` code that names the field.
 */
export function settingsOf(path: string, given: Given<SessionSettings>): SessionSettings {
  checkSettings(path, given)
  return checkedCopy(given as SessionSettings, path)
}

/** Returns a copy of the parameters. Throws `invalid-input` with the path of each invalid field. */
export function runtimeParamsOf(path: string, given: unknown): (JSONObject & RuntimeParams) | undefined {
  if (given === undefined) return undefined
  inputChecks.checkKeys(path, given, paramKeys)
  const { error } = runtimeParamsSchema.safeParse(given)
  if (!error) return checkedCopy(given as JSONObject & RuntimeParams, path)
  const issues = error.issues.map((issue) => `${[path, ...issue.path].join('.')} ${issue.message}`)
  throw new SessionError('invalid-input', sentence(issues.join('; ')))
}

/** Returns a copy of the schema. Throws `invalid-input` unless it is a JSON Schema of an object. */
export function outputSchemaOf(path: string, given: unknown): JSONObject | undefined {
  if (given === undefined) return undefined
  inputChecks.checkRequired(
    path,
    given,
    'a JSON Schema, because it is stored with the run',
    (schema) => isRecord(schema) && !('~standard' in schema),
  )
  const schema = checkedCopy(given as JSONObject, path)
  inputChecks.checkRequired(
    `${path}.type`,
    schema['type'],
    "'object' (put a value of another type into a property)",
    (type) => type === 'object',
  )
  return schema
}

/** Checks declared tools with the parser that each run uses. */
function checkRemoteTools(path: string, given: unknown): void {
  inputChecks.checkList(path, given)
  const names = new Set<string>()
  for (const [place, tool] of (given as readonly ToolDeclaration[]).entries()) {
    const at = `${path}[${place}]`
    inputChecks.checkKeys(at, tool, declarationKeys)
    const { name, description, inputSchema } = tool
    inputChecks.checkName(`${at}.name`, name)
    inputChecks.checkRequired(`${at}.description`, description, 'a text', (value) => typeof value === 'string')
    inputChecks.checkRequired(`${at}.inputSchema`, inputSchema, 'a JSON Schema', isRecord)
    try {
      defineTool({ ...tool, inputSchema: checkedCopy(inputSchema, `${at}.inputSchema`) })
    } catch (error) {
      if (!AgentError.isInstance(error)) throw error
      throw new SessionError('invalid-input', sentence(`${at}: ${error.message}`))
    }
    if (names.has(name)) throw new SessionError('invalid-input', `${at}.name is used twice: ${JSON.stringify(name)}.`)
    names.add(name)
  }
}

/** Returns a copy of a JSON object, or undefined if absent. Throws `invalid-input`. */
export function metadataOf(path: string, given: JSONObject | undefined): JSONObject | undefined {
  inputChecks.checkObject(path, given)
  return given === undefined ? undefined : checkedCopy(given, path)
}
