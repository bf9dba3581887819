import type { z } from '@hono/zod-openapi'

/**
 * A field that may be left out. JSON and queries have no `undefined`, so the exact type is true of both; the schema is the
 * plain optional one because the OpenAPI generator takes exact ones for required.
 */
export function optional<Schema extends z.ZodType>(schema: Schema): z.ZodExactOptional<Schema> {
  return schema.optional() as unknown as z.ZodExactOptional<Schema>
}
