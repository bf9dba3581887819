import type { JSONValue } from '@bowline/llm'

/** The tool by which a model gives its final answer, where it is asked for it by a tool. */
export const outputToolName = 'final_output'

/** How the final answer is asked for: by the response format of the provider, by a tool, or in the prompt. */
export type OutputMode = 'json-schema' | 'tool' | 'prompt'

/** Where a value stands in an output: keys of objects and indexes of lists, from the root. */
export type OutputPath = readonly (string | number)[]

/** One change of an output that is being written. `append` adds to the text at its path; `value` takes the place of what is there. */
export type OutputChange = { readonly path: OutputPath } & ({ readonly value: JSONValue } | { readonly append: string })

/**
 * The output with these changes. Copies what lies on the paths and shares the rest. Never throws: a change that has no place
 * changes nothing, and an index behind the end of a list is its end.
 */
export function patchOutput(output: JSONValue | undefined, patch: readonly OutputChange[]): JSONValue | undefined {
  return patch.reduce((before, change) => changed(before, change, 0) ?? before, output)
}

/** Undefined if the change has no place. */
function changed(value: Value, change: OutputChange, depth: number): JSONValue | undefined {
  const key = change.path[depth]
  if (key === undefined) return 'value' in change ? change.value : typeof value === 'string' ? value + change.append : undefined
  if (typeof value !== 'object' || !value) return undefined
  const item = changed((value as Fields)[key], change, depth + 1)
  if (item === undefined) return undefined
  return Array.isArray(value) ? (value as JSONValue[]).toSpliced(key as number, 1, item) : { ...value, [key]: item }
}

type Value = JSONValue | undefined
type Fields = Readonly<Record<string | number, Value>>
