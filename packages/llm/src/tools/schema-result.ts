import type { JSONValue } from '../messages.ts'

export interface SchemaIssue {
  /** Dotted place in the value; empty for the value itself. */
  readonly path: string
  readonly message: string
}

export type SchemaResult =
  { readonly ok: true; readonly value: JSONValue } | { readonly ok: false; readonly issues: readonly SchemaIssue[] }
