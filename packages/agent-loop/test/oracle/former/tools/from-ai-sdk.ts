import type { JSONValue, LanguageModelV4ProviderTool } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import { checkFunction, refuseConfig } from '../base/check-options.ts'
import { isThenable } from '../base/time-limit.ts'
import type { Tool, ToolContext, ToolFields } from '../contract/agent.ts'
import type { AiSdkTool, InputSchema, ToolReturnValue } from '../contract/tool.ts'
import { buildTool } from './build-tool.ts'
import type { ProviderTool } from './declaration.ts'
import { executeSdkTool, sdkOptions } from './run-ai-sdk.ts'
import { fromSdkOutput } from './sdk-output.ts'

/** Its effect is `once` unless `given` says more, since the AI SDK says nothing about running twice. */
export function fromAiSdk(name: string, sdkTool: AiSdkTool, given: Partial<ToolFields> = {}): Tool | ProviderTool {
  checkFunction(`the tool ${name}: execute`, sdkTool.execute)
  checkFunction(`the tool ${name}: toModelOutput`, sdkTool.toModelOutput)
  switch (sdkTool.type) {
    case undefined:
    case 'function':
    case 'dynamic':
      return buildTool({ ...fieldsOf(name, sdkTool), ...given, name })
    case 'provider': {
      const declaration = providerDeclaration(name, sdkTool)
      if (sdkTool.isProviderExecuted) return Object.freeze({ kind: 'provider', name, declaration })
      return buildTool({ ...fieldsOf(name, sdkTool), ...given, name, declaration })
    }
    default:
      return refuseConfig(`the tool ${name} is of the unknown type ${String(sdkTool.type satisfies never)}`)
  }
}

function providerDeclaration(name: string, { id, args = {} }: AiSdkTool): LanguageModelV4ProviderTool {
  if (typeof id !== 'string' || !isProviderId(id)) return refuseConfig(`the tool ${name} of a provider needs an id`)
  return Object.freeze({ type: 'provider', id, name, args: { ...args } })
}

function isProviderId(id: string): id is `${string}.${string}` {
  return id.includes('.')
}

function fieldsOf(name: string, sdkTool: AiSdkTool): Partial<ToolFields> {
  const { title, inputSchema, strict, inputExamples, providerOptions } = sdkTool
  const fields = {
    description: descriptionOf(name, sdkTool.description),
    inputSchema: inputSchema as InputSchema,
    label: title,
    ...{ strict, inputExamples, providerOptions },
    needsApproval: approvalOf(sdkTool),
    execute: sdkTool.execute && ((input: JSONValue, context: ToolContext) => executeSdkTool(sdkTool, input, context)),
    toModelOutput: sdkTool.toModelOutput && modelOutputOf(sdkTool),
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

function descriptionOf(name: string, description: unknown): string {
  if (typeof description === 'string') return description
  if (typeof description !== 'function') return ''
  try {
    return String((description as (options: object) => unknown)({ context: undefined }))
  } catch (error) {
    return refuseConfig(`the description of ${name} cannot be made without a context: ${messageOf(error)}`)
  }
}

function approvalOf(sdkTool: AiSdkTool): ToolFields['needsApproval'] | undefined {
  if (typeof sdkTool.needsApproval !== 'function') return sdkTool.needsApproval
  const { needsApproval } = sdkTool as unknown as { needsApproval: (input: JSONValue, options: object) => unknown }
  return async (input, context) => Boolean(await needsApproval.call(sdkTool, input, sdkOptions(context)))
}

function modelOutputOf(sdkTool: AiSdkTool): NonNullable<ToolFields['toModelOutput']> {
  const { toModelOutput } = sdkTool as unknown as { toModelOutput: (options: object) => unknown }
  return (value: ToolReturnValue, call) => {
    const made = toModelOutput.call(sdkTool, { ...call, output: value.output })
    return isThenable(made) ? Promise.resolve(made).then(fromSdkOutput) : fromSdkOutput(made)
  }
}
