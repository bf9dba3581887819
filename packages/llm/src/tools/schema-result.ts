import type { JSONValue } from '../messages.ts'

/** One reason why a value does not fit a schema. */
export interface SchemaIssue {
  /** Dotted path in the value; empty for the value itself. */
  readonly path: string
  readonly message: string
}

/**
 * Result of a validation. `value` is the output of the schema, with its defaults and transformations applied. `issues` has at least
 * one entry.
 */
export type SchemaResult =
  | { readonly ok: true; readonly value: JSONValue }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] }
