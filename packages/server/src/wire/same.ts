import type { z } from '@hono/zod-openapi'

type ReadOnly<T> = T extends readonly (infer Item)[]
  ? readonly ReadOnly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: ReadOnly<T[Key]> }
    : T

type KeysOf<T> = T extends unknown ? keyof T : never

type Difference<Schema extends z.ZodType, Wire> = [Wire] extends [ReadOnly<z.output<Schema>>]
  ? [KeysOf<z.output<Schema>>] extends [KeysOf<Wire>]
    ? []
    : ['the schema takes a key that the wire type does not have']
  : ['the schema refuses what the wire type allows']

/**
 * Ties a schema to the type that clients compile against. It does not compile when either has a field, or a form of a
 * field, that the other lacks.
 */
export function sameAs<Wire>() {
  return <Schema extends z.ZodType<Wire>>(schema: Schema, ..._same: Difference<Schema, Wire>): z.ZodType<Wire> => schema
}
