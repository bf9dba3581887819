import { v7 } from 'uuid'

/** Where ids come from. `kind` is the prefix; two calls must never give the same id. */
export interface IdSource {
  next(kind: string): string
}

/** `<kind>_<UUIDv7>`. */
export const systemIds: IdSource = { next: (kind) => `${kind}_${v7()}` }
