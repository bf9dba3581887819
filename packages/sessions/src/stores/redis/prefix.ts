import type { ArgumentCheck } from '@bowline/llm/arguments'
import { configChecks } from '../../arguments.ts'

const form = /^[A-Za-z0-9._:/-]{1,64}$/

/** Refuses a prefix of keys with other characters: braces would decide about the slot in a cluster. */
export const prefixCheck: ArgumentCheck = configChecks.optional((path, value) =>
  configChecks.checkRequired(path, value, 'a text of 1 to 64 letters, digits and . _ : / -', (given) => typeof given === 'string' && form.test(given)),
)
