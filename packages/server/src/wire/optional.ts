import type { z } from '@hono/zod-openapi'

/**
 * Makes a field optional. JSON and queries have no `undefined`, so the exact type is correct. The schema is the plain optional one,
 * because the OpenAPI generator treats exact ones as required.
 */
export function optional<Schema extends z.ZodType>(schema: Schema): z.ZodExactOptional<Schema> {
  return schema.optional() as unknown as z.ZodExactOptional<Schema>
}
