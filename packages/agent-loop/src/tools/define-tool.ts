import type { JSONValue } from '@bowline/llm'
import { checkFunction, checkKeys, checkOneOf, checkWhole, refuseConfig } from '../agent/check-options.ts'
import { makeTool } from './tool.ts'
import type { InputSchema, Tool, ToolFields, ToolOptions } from './tool.ts'

const optionKeys = [
  'name',
  'label',
  'description',
  'inputSchema',
  'execute',
  'effect',
  'reconcile',
  'onUnknownOutcome',
  'timeoutMs',
  'sequential',
  'concurrency',
  'maxOutputCharacters',
  'toModelOutput',
] as const

const namePattern = /^[A-Za-z0-9_-]{1,64}$/
const localTimeoutMs = 120_000
const outputCharacters = 50_000

/** Throws `invalid-config` for options that are unknown or make no sense. */
export function defineTool<Schema extends InputSchema, Details extends JSONValue = JSONValue>(
  options: ToolOptions<Schema, Details>,
): Tool {
  return toolOf(options as unknown as ToolFields)
}

export function toolOf(options: Partial<ToolFields>): Tool {
  const { name, description, inputSchema } = options
  checkKeys('a tool', options, optionKeys)
  if (typeof name !== 'string' || !namePattern.test(name)) refuseConfig(`the tool name ${String(name)} is not valid`)
  if (typeof description !== 'string') refuseConfig(`the tool ${name} needs a description`)
  if (typeof inputSchema !== 'object' && typeof inputSchema !== 'function') {
    refuseConfig(`the tool ${name} needs an inputSchema`)
  }
  checkOneOf(`effect of ${name}`, options.effect, ['pure', 'idempotent', 'once'])
  checkOneOf(`onUnknownOutcome of ${name}`, options.onUnknownOutcome, ['stop', 'tell-model'])
  checkWhole(`timeoutMs of ${name}`, options.timeoutMs, 1)
  checkWhole(`concurrency of ${name}`, options.concurrency, 1)
  checkWhole(`maxOutputCharacters of ${name}`, options.maxOutputCharacters, 1)
  checkFunction(`execute of ${name}`, options.execute)
  checkFunction(`reconcile of ${name}`, options.reconcile)
  checkFunction(`toModelOutput of ${name}`, options.toModelOutput)
  return makeTool({
    ...options,
    ...{ name, description, inputSchema },
    effect: options.effect ?? 'once',
    sequential: options.sequential ?? false,
    timeoutMs: options.timeoutMs === undefined ? (options.execute ? localTimeoutMs : null) : options.timeoutMs,
    maxOutputCharacters: options.maxOutputCharacters ?? outputCharacters,
  })
}
