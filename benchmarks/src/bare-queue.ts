/** Smallest queue between one writer and one reader: one promise per value. It is the reference for others. */
export interface BareQueue<Value> extends AsyncIterableIterator<Value, undefined> {
  push(value: Value): void
  end(): void
}

export function bareQueue<Value>(): BareQueue<Value> {
  let values: Value[] = []
  let taken = 0
  let ended = false
  let wake: ((result: IteratorResult<Value, undefined>) => void) | undefined
  const over = { value: undefined, done: true } as const

  const hand = (result: IteratorResult<Value, undefined>): boolean => {
    const resolve = wake
    wake = undefined
    resolve?.(result)
    return resolve !== undefined
  }
  return {
    push(value) {
      if (!hand({ value, done: false })) values.push(value)
    },
    end() {
      ended = true
      hand(over)
    },
    next() {
      if (taken < values.length) return Promise.resolve({ value: values[taken++] as Value, done: false })
      values = []
      taken = 0
      return ended ? Promise.resolve(over) : new Promise((resolve) => (wake = resolve))
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }
}
