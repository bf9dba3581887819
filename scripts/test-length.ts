const length = process.env['TEST_LENGTH'] ?? 'short'
if (length !== 'short' && length !== 'long') throw new TypeError(`TEST_LENGTH must be short or long, but is ${JSON.stringify(length)}.`)

const given = process.env['TEST_SEED'] ?? '1'
if (!/^\d{1,9}$/.test(given))
  throw new TypeError(`TEST_SEED must be a whole number of at most nine digits, but is ${JSON.stringify(given)}.`)

/** Seed of random tests. It is the same in each run, unless `TEST_SEED` is set. */
export const testSeed = Number(given)

/** Returns the number of cases of a test, or what else depends on its length: `short` by default, `long` with `TEST_LENGTH=long`. */
export function rounds<Value = number>({ short, long }: { readonly short: Value; readonly long: Value }): Value {
  return length === 'long' ? long : short
}

/** Returns parameters for `fc.assert`, which prints the seed if it fails. `long` defaults to fifty times `short`. */
export function randomRuns(short: number, long: number = 50 * short): { numRuns: number; seed: number } {
  return { numRuns: rounds({ short, long }), seed: testSeed }
}
