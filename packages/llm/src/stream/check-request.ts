import { check, checkClock, checkProviderOptions, checkValues, fieldsOf, optionalFieldsOf } from '../check.ts'
import { checkMessages } from '../check-messages.ts'
import { closest, isFields, needed } from '../arguments.ts'
import { LlmError } from '../model-error.ts'
import type { ModelRequest } from '../model-request.ts'
import { checkRuntimeParams, runtimeParamNames } from '../params/runtime-params.ts'
import { checkCacheMarks } from '../prompt/cache-marks.ts'
import { checkHistory, checkInstructions } from '../prompt/check-options.ts'
import { checkTools } from '../tools/check-tools.ts'

export const requestKeys = Object.keys({
  model: true,
  models: true,
  messages: true,
  instructions: true,
  tools: true,
  toolChoice: true,
  output: true,
  runtimeParams: true,
  history: true,
  cache: true,
  download: true,
  providerOptions: true,
  headers: true,
  abortSignal: true,
  clock: true,
  timeouts: true,
  messageId: true,
  price: true,
  telemetry: true,
  onRequest: true,
} satisfies Record<keyof ModelRequest, true>)

/** Names of these options in other libraries. */
const otherNames: Readonly<Record<string, string>> = {
  prompt: "messages, a list like [{ role: 'user', content }]",
  system: 'instructions',
  ...Object.fromEntries([...runtimeParamNames, 'maxOutputTokens'].map((name) => [name, 'runtimeParams'])),
}

/** Throws `LlmError` for a request that can never work. */
export function checkRequest(request: ModelRequest): void {
  check.checkRequired('streamMessage.request', request, 'an object', isFields)
  const other = Object.keys(request).find(
    (key) => !requestKeys.includes(key) && Object.hasOwn(otherNames, key) && closest(key, requestKeys) === undefined,
  )
  if (other !== undefined) throw new LlmError('invalid-config', `streamMessage.request has no option "${other}"; use ${otherNames[other]}`)
  check.checkKeys('streamMessage.request', request, requestKeys)
  checkMessages('messages', request.messages, true)
  if (request.messages.length === 0)
    throw new LlmError('invalid-input', 'messages must be a list of at least one message; received a list of 0')
  if (request.runtimeParams !== undefined) checkRuntimeParams(request.runtimeParams)
  checkInstructions('instructions', request.instructions)
  checkHistory('history', request.history)
  checkTools(request.tools)
  checkToolChoice(request.toolChoice)
  checkCacheMarks(request.cache)
  checkOutput(request.output)
  checkCall(request)
}

function checkToolChoice(choice: unknown): void {
  if (choice === undefined || choice === 'auto' || choice === 'none' || choice === 'required') return
  check.checkRequired('toolChoice', choice, 'auto, none, required or { toolName }', (given) => typeof given === 'object' && given !== null)
  // The AI SDK also sets `type`.
  const { toolName, type } = fieldsOf('toolChoice', choice, ['toolName', 'type'])
  check.checkOneOf('toolChoice.type', type, ['tool'])
  check.checkName('toolChoice.toolName', toolName)
}

function checkOutput(output: unknown): void {
  if (output === undefined) return
  const { type, schema, name, description } = fieldsOf('output', output, ['type', 'schema', 'name', 'description'])
  check.checkOneOf('output.type', needed(type), ['json'])
  check.checkObject('output.schema', schema)
  check.checkText('output.name', name)
  check.checkText('output.description', description)
}

/** Checks options of the call that do not affect its content. */
function checkCall(request: ModelRequest): void {
  check.checkFunction('download', request.download)
  check.checkFunction('onRequest', request.onRequest)
  checkProviderOptions('providerOptions', request.providerOptions)
  checkValues('headers', request.headers, check.checkText)
  check.checkSignal('abortSignal', request.abortSignal)
  checkClock('clock', request.clock)
  if (request.messageId !== undefined) check.checkName('messageId', request.messageId)
  const timeouts = optionalFieldsOf('timeouts', request.timeouts, ['firstPartMs', 'idleMs', 'totalMs'])
  for (const [name, ms] of Object.entries(timeouts)) check.checkNumber(`timeouts.${name}`, ms, 0)
  const { enabled, content, metadata } = optionalFieldsOf('telemetry', request.telemetry, ['enabled', 'content', 'metadata'])
  check.checkBoolean('telemetry.enabled', enabled)
  check.checkBoolean('telemetry.content', content)
  checkValues('telemetry.metadata', metadata, check.checkText)
}
