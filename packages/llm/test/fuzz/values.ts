import fc from 'fast-check'

const cycle: Record<string, unknown> = { before: 1 }
cycle['self'] = cycle
const twice = { shared: true }

/** Text with what is hard about text: halves and wholes of characters, quotes, escapes, line ends that JSON allows. */
export const oddText = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom('a', 'b', ' ', 'é', '🪢', '\ud83e', '\udea2', '{', '"', '\\', '\n', '\0', '\u2028'),
    maxLength,
  })

/** Values that metadata and results may hold although JSON cannot, and keys that are traps. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, true, -0, NaN, Infinity, 10n, 'text', '', '__proto__'),
  fc.constantFrom<unknown>(
    new Date(5),
    new Date(NaN),
    new URL('https://example.test/a'),
    cycle,
    [cycle],
    [twice, twice],
  ),
  fc.constantFrom<unknown>(
    Symbol('s'),
    () => 1,
    [undefined, 1],
    { none: undefined },
    JSON.parse('{"__proto__":{"a":1}}'),
  ),
  fc.uint8Array({ maxLength: 4 }),
  fc.jsonValue({ maxDepth: 2 }),
)

function refuse(): never {
  throw new Error('nobody may look')
}

/** Only the reporter may read what it is. */
const named = (name: string): object => Object.defineProperty({}, fc.toStringMethod, { value: () => name })
const sealed = new Proxy(named('a sealed object'), {
  get: (target, key) => (typeof key === 'symbol' ? (Reflect.get(target, key) as unknown) : refuse()),
  ownKeys: refuse,
})
const sealedType = Object.defineProperty(named('an object with a sealed type'), 'type', {
  get: refuse,
  enumerable: true,
})

/** Values that no provider should send, and that break those who trust them. */
export const brokenValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: oddValue },
  fc.constantFrom<unknown>(new Array(2), new Map([[1, 2]]), new Error('an error'), Object.create(null)),
  fc.constantFrom<unknown>(
    sealed,
    sealedType,
    { toString: 7, toJSON: 7 },
    Object.assign(new Error('x'), { message: 7 }),
  ),
)

const provider = fc.constantFrom('p', 'anthropic', 'openai', '__proto__', 'constructor')
const key = fc.constantFrom('signature', 'item', 'a', '__proto__')

/** Own keys, also those that an assignment would take for the prototype. */
const fieldsOf = <T>(keys: fc.Arbitrary<string>, values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.array(fc.tuple(keys, values), { maxLength: 3 }).map((entries) => Object.fromEntries(entries))

/** What a provider says about a part, in the shape of the contract, with values as they come. */
export const metadata: fc.Arbitrary<Record<string, Record<string, unknown>> | undefined> = fc.option(
  fieldsOf(provider, fieldsOf(key, oddValue)),
  { nil: undefined, freq: 2 },
)

/** What JSON makes of a value, by way of JSON itself; only what JSON refuses is put in other words. */
export function asJson(value: unknown): unknown {
  const ancestors: unknown[] = []
  function inOtherWords(this: unknown, name: string, shown: unknown): unknown {
    const item = (this as Record<string, unknown>)[name]
    while (ancestors.length > 0 && ancestors.at(-1) !== this) ancestors.pop()
    if (item instanceof Date) return item.getTime()
    if (item instanceof Uint8Array) return Buffer.from(item).toString('base64')
    if (typeof item === 'bigint') return String(item)
    if (typeof shown !== 'object' || shown === null) return shown
    if (ancestors.includes(shown)) return undefined
    ancestors.push(shown)
    return shown
  }
  const text = JSON.stringify(value, inOtherWords) as string | undefined
  return text === undefined ? null : JSON.parse(text)
}
