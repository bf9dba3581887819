/** What need not be waited for is there at once: a promise costs time also when it is settled. */
export type MaybePromise<Value> = Value | Promise<Value>
