import { LlmError } from '../model-error.ts'
import type { ModelRequest } from '../model-request.ts'
import { checkRuntimeParams } from '../params/runtime-params.ts'

/** Throws `LlmError` for a request that can never work. */
export function checkRequest({ messages, tools, runtimeParams }: ModelRequest): void {
  if (messages.length === 0) throw new LlmError('USAGE', 'a model request must have at least one message')
  if (runtimeParams !== undefined) checkRuntimeParams(runtimeParams)
  const names = new Set<string>()
  for (const { name } of tools ?? []) {
    if (names.has(name)) throw new LlmError('CONFIG', `two tools have the name "${name}"`)
    names.add(name)
  }
}
