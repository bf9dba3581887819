import type { ArgumentCheck } from '@bowline/llm/arguments'
import { configChecks } from '../arguments.ts'

/** Variable with the connection string of a state store on Postgres. */
export const databaseVariable = 'DATABASE_URL'

/** Pairs of variables: URL and token. Preferred first. */
export const kvVariables = [
  ['KV_REST_API_URL', 'KV_REST_API_TOKEN'],
  ['UPSTASH_REDIS_REST_URL', 'UPSTASH_REDIS_REST_TOKEN'],
] as const

const form = /^[A-Za-z0-9._:/-]{1,64}$/

/** Refuses a key prefix with other characters. Braces, for instance, would change the slot of a cluster. */
export const prefixCheck: ArgumentCheck = configChecks.optional((path, value) =>
  configChecks.checkRequired(
    path,
    value,
    'a text of 1 to 64 letters, digits and . _ : / -',
    (given) => typeof given === 'string' && form.test(given),
  ),
)
