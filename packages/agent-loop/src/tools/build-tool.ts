import {
  checkBoolean,
  checkFunction,
  checkOneOf,
  checkText,
  checkWhole,
  checkWholeOrNull,
  refuseConfig,
} from '../agent/check-options.ts'
import { isRecord } from '../json.ts'
import { makeTool } from './tool.ts'
import type { Tool, ToolFields } from './tool.ts'

const namePattern = /^[A-Za-z0-9_-]{1,64}$/
const localTimeoutMs = 120_000
const outputCharacters = 50_000

/** The one place where tools are made, with checks and defaults. Throws `invalid-config`. */
export function buildTool(fields: Partial<ToolFields>): Tool {
  const name = checkToolName(fields.name)
  const { description, inputSchema } = fields
  if (typeof description !== 'string') return refuseConfig(`the tool ${name} needs a description`)
  if (typeof inputSchema !== 'function' && (typeof inputSchema !== 'object' || inputSchema === null)) {
    return refuseConfig(`the tool ${name} needs an inputSchema`)
  }
  checkFields(name, fields)
  return makeTool({
    ...fields,
    ...{ name, description, inputSchema },
    effect: fields.effect ?? 'once',
    sequential: fields.sequential ?? false,
    timeoutMs: fields.timeoutMs === undefined ? (fields.execute ? localTimeoutMs : null) : fields.timeoutMs,
    maxOutputCharacters: fields.maxOutputCharacters ?? outputCharacters,
  })
}

export function checkToolName(name: unknown): string {
  if (typeof name === 'string' && namePattern.test(name)) return name
  return refuseConfig(`the tool name ${String(name)} is not valid: letters, digits, _ and -, 64 at most`)
}

function checkFields(name: string, fields: Partial<ToolFields>): void {
  checkText(`label of ${name}`, fields.label)
  checkOneOf(`effect of ${name}`, fields.effect, ['pure', 'idempotent', 'once'])
  checkOneOf(`onUnknownOutcome of ${name}`, fields.onUnknownOutcome, ['stop', 'tell-model'])
  checkWholeOrNull(`timeoutMs of ${name}`, fields.timeoutMs, 1)
  checkWholeOrNull(`approvalTimeoutMs of ${name}`, fields.approvalTimeoutMs, 1)
  checkBoolean(`sequential of ${name}`, fields.sequential)
  checkBoolean(`strict of ${name}`, fields.strict)
  checkWhole(`concurrency of ${name}`, fields.concurrency, 1)
  checkWhole(`maxOutputCharacters of ${name}`, fields.maxOutputCharacters, 1)
  checkFunction(`execute of ${name}`, fields.execute)
  checkFunction(`reconcile of ${name}`, fields.reconcile)
  checkFunction(`toModelOutput of ${name}`, fields.toModelOutput)
  if (typeof fields.needsApproval !== 'function') checkBoolean(`needsApproval of ${name}`, fields.needsApproval)
  checkExamples(name, fields.inputExamples)
  checkProviderOptions(name, fields.providerOptions)
}

function checkExamples(name: string, examples: unknown): void {
  if (examples === undefined) return
  const right = Array.isArray(examples) && examples.every((example) => isRecord(example) && isRecord(example['input']))
  if (!right) refuseConfig(`inputExamples of ${name} must be a list of { input }`)
}

function checkProviderOptions(name: string, options: unknown): void {
  if (options === undefined || (isRecord(options) && Object.values(options).every(isRecord))) return
  refuseConfig(`providerOptions of ${name} must be objects by provider`)
}
