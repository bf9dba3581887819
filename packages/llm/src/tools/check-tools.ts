import { isRecord, needed } from '../arguments.ts'
import { check, checkItems, checkProviderOptions, fieldsOf } from '../check.ts'
import { LlmError } from '../model-error.ts'
import { checkInputSchema } from './check-schema.ts'

const toolKeys = ['name', 'description', 'inputSchema', 'strict', 'inputExamples', 'providerOptions']
const providerToolKeys = ['type', 'id', 'name', 'args']

/** Throws `LlmError` for a tool that cannot be sent, and for duplicate names. */
export function checkTools(tools: unknown): void {
  const names = new Set<string>()
  checkItems('tools', tools, (path, tool) => {
    check.checkObject(path, needed(tool))
    const name = isRecord(tool) && tool['type'] !== undefined ? checkProviderTool(path, tool) : checkFunctionTool(path, tool)
    if (names.has(name)) throw new LlmError('invalid-config', `${path}.name: two tools have the name "${name}"`)
    names.add(name)
  })
}

function checkFunctionTool(path: string, tool: unknown): string {
  const { name, description, inputSchema, strict, inputExamples, providerOptions } = fieldsOf(path, tool, toolKeys)
  check.checkName(`${path}.name`, name)
  check.checkText(`${path}.description`, description)
  checkInputSchema(`${path}.inputSchema`, inputSchema)
  check.checkBoolean(`${path}.strict`, strict)
  checkItems(`${path}.inputExamples`, inputExamples, (place, example) => {
    check.checkObject(`${place}.input`, needed(fieldsOf(place, example, ['input'])['input']))
  })
  checkProviderOptions(`${path}.providerOptions`, providerOptions)
  return name as string
}

function checkProviderTool(path: string, tool: unknown): string {
  const { type, id, name, args } = fieldsOf(path, tool, providerToolKeys)
  check.checkOneOf(`${path}.type`, type, ['provider'])
  check.checkRequired(`${path}.id`, id, 'a text like provider.tool', (given) => typeof given === 'string' && given.includes('.'))
  check.checkName(`${path}.name`, name)
  check.checkObject(`${path}.args`, needed(args))
  return name as string
}
