/** The fields of `T` as they are when they are there. */
export type GivenFields<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** Without the fields that are `undefined`: to the bridge a field is there or it is not. */
export function givenFields<T extends object>(fields: T): GivenFields<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as GivenFields<T>
}
