import type { z } from '@hono/zod-openapi'

type ReadOnly<T> = T extends readonly (infer Item)[]
  ? readonly ReadOnly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: ReadOnly<T[Key]> }
    : T

/** Type with all optional fields required: an object that lacks one is assignable to `T`, but not to this. */
type Full<T> = T extends readonly (infer Item)[]
  ? readonly Full<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]-?: Full<T[Key]> }
    : T

type Difference<Schema extends z.ZodType, Wire> = [Wire] extends [ReadOnly<z.output<Schema>>]
  ? [Full<z.output<Schema>>] extends [Full<Wire>]
    ? [Full<Wire>] extends [Full<z.output<Schema>>]
      ? []
      : ['the schema takes a key that the wire type does not have']
    : ['the wire type has a key that the schema does not take']
  : ['the schema refuses what the wire type allows']

/**
 * Ties a schema to the type that clients compile against. It fails to compile if one of them has a field, or a variant of a field,
 * that the other lacks.
 */
export function sameAs<Wire>() {
  return <Schema extends z.ZodType<Wire>>(schema: Schema, ..._same: Difference<Schema, Wire>): z.ZodType<Wire> => schema
}
