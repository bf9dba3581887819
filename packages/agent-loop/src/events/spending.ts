import type { Cost, Usage } from '@bowline/llm'

/** Tokens of a turn, or of a part of it, and their cost as far as it is known. */
interface Spent {
  readonly usage: Usage
  readonly cost?: Cost | undefined
}

const amounts = ['total', 'input', 'cacheRead', 'cacheWrite', 'output'] as const
const decimal = /^-?\d+(\.\d+)?$/

/**
 * Returns the exact cost of the turn so far and one more part. Returns undefined if a part with tokens has no cost, or if the
 * currencies differ. A part without reported tokens adds nothing.
 */
export function sumCost(sofar: Spent, part: Spent): Cost | undefined {
  if (!part.cost) return hasTokens(part.usage) ? undefined : sofar.cost
  if (!sofar.cost) return hasTokens(sofar.usage) ? undefined : part.cost
  const [a, b] = [sofar.cost, part.cost]
  if (a.currency !== b.currency || !amounts.every((name) => decimal.test(a[name]) && decimal.test(b[name]))) return undefined
  const sums = Object.fromEntries(amounts.map((name) => [name, addDecimals(a[name], b[name])])) as Pick<Cost, (typeof amounts)[number]>
  return { currency: a.currency, ...sums, ...(a.estimated || b.estimated ? { estimated: true as const } : undefined) }
}

function hasTokens(usage: Usage): boolean {
  return Object.values(usage).some((value) => typeof value === 'number')
}

/** Writes sums as `@bowline/llm` does, which this entry must not load: no exponent, no zeros at the end. */
function addDecimals(a: string, b: string): string {
  // More digits than either fraction has, so that there always is a point.
  const scale = Math.max(a.length, b.length)
  const sum = scaled(a, scale) + scaled(b, scale)
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0')
  return (sum < 0n ? '-' : '') + `${digits.slice(0, -scale)}.${digits.slice(-scale)}`.replace(/\.?0+$/, '')
}

function scaled(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}

type Count = Exclude<keyof Usage, 'estimated' | 'raw'>

/** As `addUsage` of `@bowline/llm`, which this entry must not load: a number is missing only if both lack it. */
export function sumUsage(a: Usage, b: Usage): Usage {
  const sum: { -readonly [Key in keyof Usage]: Usage[Key] } = {}
  for (const name of Object.keys({ ...a, ...b }) as Count[]) {
    const [left, right] = [a[name], b[name]]
    if (typeof (left ?? right) === 'number') sum[name] = (left ?? 0) + (right ?? 0)
  }
  if (a.estimated || b.estimated) sum.estimated = true
  return sum
}
