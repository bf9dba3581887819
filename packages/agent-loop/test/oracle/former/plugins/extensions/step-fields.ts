import { optional } from '../../base/fields.ts'
import type { StepFields } from '../../contract/extension.ts'

/** The fields of an `orchestration-step` and no others. Throws for what does not fit. */
export function stepFields({ name, previous, because, sequenceIndex }: StepFields): StepFields {
  if (name !== null && typeof name !== 'string') return refuse('a name, or null')
  if (previous !== undefined && typeof previous !== 'string') return refuse('a text as previous')
  if (typeof because !== 'string') return refuse('a text as because')
  if (!Number.isSafeInteger(sequenceIndex)) return refuse('a whole number as sequenceIndex')
  return { name, because, sequenceIndex, ...optional('previous', previous) }
}

function refuse(what: string): never {
  throw new TypeError(`logStep must be given ${what}`)
}
