/** A value that may be there at once: a promise costs time even when it is settled. */
export type MaybePromise<Value> = Value | Promise<Value>
