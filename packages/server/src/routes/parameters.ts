import { z } from '@hono/zod-openapi'

/** A query parameter that may be left out. The document takes it for required when it is not told otherwise. */
export function optionalParameter<Schema extends z.ZodType>(schema: Schema): z.ZodExactOptional<Schema> {
  return z.exactOptional(schema).openapi({ param: { required: false } })
}
