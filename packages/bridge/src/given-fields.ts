/** Fields of `T` without `undefined` in their types. */
export type GivenFields<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** Removes fields that are `undefined`: the bridge distinguishes only present and absent fields. */
export function givenFields<T extends object>(fields: T): GivenFields<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as GivenFields<T>
}
