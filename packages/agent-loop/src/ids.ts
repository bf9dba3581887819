import { uuidv7 } from 'uuidv7'

/** Where ids come from. `kind` is the prefix; two calls must never give the same id. */
export interface IdSource {
  next(kind: string): string
}

/** `<kind>_<UUIDv7>`: they sort by the order in which this process made them. */
export const systemIds: IdSource = { next: (kind) => `${kind}_${uuidv7()}` }
