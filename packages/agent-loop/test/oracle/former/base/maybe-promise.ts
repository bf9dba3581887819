/** What need not be waited for is there at once: a promise costs time also when it is settled. */
export type MaybePromise<Value> = Value | Promise<Value>

/** Asks one after the other, up to the first that says something: the last must. Without waiting where all answer at once. */
export function firstOf<Value extends object>(asks: readonly (() => MaybePromise<Value | undefined>)[]): MaybePromise<Value> {
  for (const [place, ask] of asks.entries()) {
    const said = ask()
    if (said instanceof Promise) return said.then((value) => value ?? firstOf(asks.slice(place + 1)))
    if (said) return said
  }
  throw new TypeError('nobody said anything')
}
