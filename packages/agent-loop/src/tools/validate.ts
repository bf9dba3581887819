import { validateWith } from '@bowline/llm'
import type { JSONValue, SchemaResult } from '@bowline/llm'
import { messageOf } from '../base/agent-error.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { Tool } from '../contract/agent.ts'

/** Checks an input by the schema of its tool. Must not reject: a schema that throws is an issue. */
export function validate(tool: Tool | undefined, input: JSONValue): MaybePromise<SchemaResult> {
  if (!tool) return { ok: false, issues: [{ path: '', message: 'there is no such tool' }] }
  const checked = validateWith(tool.inputSchema, input)
  return checked instanceof Promise ? checked.catch((error: unknown) => ({ ok: false, issues: [{ path: '', message: messageOf(error) }] })) : checked
}
