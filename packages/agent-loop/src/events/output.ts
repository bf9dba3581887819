import type { JSONValue } from '@bowline/llm'

/** Name of the tool by which a model gives its final answer, if it is asked by a tool. */
export const outputToolName = 'final_output'

/** The way in which a model is asked for the final answer: by the provider's response format, by a tool, or by the prompt. */
export type OutputMode = 'json-schema' | 'tool' | 'prompt'

/** The place of a value in an output: object keys and list indexes, from the root. */
export type OutputPath = readonly (string | number)[]

/** One change of an output while the model writes it. `append` adds to the text at the path; `value` replaces the value there. */
export type OutputChange = { readonly path: OutputPath } & ({ readonly value: JSONValue } | { readonly append: string })

/**
 * Returns the output with these changes. It copies the values on the paths and shares the rest. It never throws: a change without
 * a place changes nothing, and an index past the end of a list is its end.
 */
export function patchOutput(output: JSONValue | undefined, patch: readonly OutputChange[]): JSONValue | undefined {
  return patch.reduce((before, change) => changed(before, change, 0) ?? before, output)
}

/** Returns undefined if the change has no place. */
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
