import fc from 'fast-check'

const cycle: Record<string, unknown> = { before: 1 }
cycle['self'] = cycle
const twice = { shared: true }

/** Text with difficult characters: halves and wholes of surrogate pairs, quotes, escapes, line separators that JSON allows. */
export const oddText = (maxLength: number): fc.Arbitrary<string> =>
  fc.string({
    unit: fc.constantFrom('a', 'b', ' ', 'é', '🪢', '\ud83e', '\udea2', '{', '"', '\\', '\n', '\0', '\u2028'),
    maxLength,
  })

/** Values that metadata and results may contain although JSON cannot, and dangerous keys. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(undefined, null, true, -0, NaN, Infinity, 10n, 'text', '', '__proto__'),
  fc.constantFrom<unknown>(new Date(5), new Date(NaN), new URL('https://example.test/a'), cycle, [cycle], [twice, twice]),
  fc.constantFrom<unknown>(Symbol('s'), () => 1, [undefined, 1], { none: undefined }, JSON.parse('{"__proto__":{"a":1}}')),
  fc.uint8Array({ maxLength: 4 }),
  fc.jsonValue({ maxDepth: 2 }),
)

function refuse(): never {
  throw new Error('nobody may look')
}

/** Gives the value a name that only the reporter of fast-check reads. */
const named = (name: string): object => Object.defineProperty({}, fc.toStringMethod, { value: () => name })
const sealed = new Proxy(named('a sealed object'), {
  get: (target, key) => (typeof key === 'symbol' ? (Reflect.get(target, key) as unknown) : refuse()),
  ownKeys: refuse,
})
const sealedType = Object.defineProperty(named('an object with a sealed type'), 'type', {
  get: refuse,
  enumerable: true,
})

/** Values that no provider should send, and that break code without checks. */
export const brokenValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: oddValue },
  fc.constantFrom<unknown>(new Array(2), new Map([[1, 2]]), new Error('an error'), Object.create(null)),
  fc.constantFrom<unknown>(sealed, sealedType, { toString: 7, toJSON: 7 }, Object.assign(new Error('x'), { message: 7 })),
)

const provider = fc.constantFrom('p', 'anthropic', 'openai', '__proto__', 'constructor')
const key = fc.constantFrom('signature', 'item', 'a', '__proto__')

/** Own keys, including `__proto__`, which an assignment would treat as the prototype. */
const fieldsOf = <T>(keys: fc.Arbitrary<string>, values: fc.Arbitrary<T>): fc.Arbitrary<Record<string, T>> =>
  fc.array(fc.tuple(keys, values), { maxLength: 3 }).map((entries) => Object.fromEntries(entries))

/** Provider metadata in the shape of the contract, with any values. */
export const metadata: fc.Arbitrary<Record<string, Record<string, unknown>> | undefined> = fc.option(
  fieldsOf(provider, fieldsOf(key, oddValue)),
  { nil: undefined, freq: 2 },
)

/** Converts a value with JSON itself. Only values that JSON cannot represent are converted by hand. */
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
