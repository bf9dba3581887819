import type { Cost, Usage } from '@bowline/llm'

/** Tokens of a turn, or of a part of it, and what they cost as far as that is known. */
export interface Spent {
  readonly usage: Usage
  readonly cost?: Cost | undefined
}

const amounts = ['total', 'input', 'cacheRead', 'cacheWrite', 'output'] as const
const decimal = /^-?\d+(\.\d+)?$/

/**
 * What the turn cost so far and one more part. Exact. Undefined when a part with tokens has no cost, and for different
 * currencies; a part of which nobody reported any tokens adds nothing.
 */
export function sumCost(sofar: Spent, part: Spent): Cost | undefined {
  if (!part.cost) return hasTokens(part.usage) ? undefined : sofar.cost
  if (!sofar.cost) return hasTokens(sofar.usage) ? undefined : part.cost
  const [a, b] = [sofar.cost, part.cost]
  if (a.currency !== b.currency || !amounts.every((name) => decimal.test(a[name]) && decimal.test(b[name]))) return undefined
  const sum = (name: (typeof amounts)[number]): string => addDecimals(a[name], b[name])
  return {
    currency: a.currency,
    total: sum('total'),
    input: sum('input'),
    cacheRead: sum('cacheRead'),
    cacheWrite: sum('cacheWrite'),
    output: sum('output'),
    ...(a.estimated || b.estimated ? { estimated: true as const } : undefined),
  }
}

function hasTokens(usage: Usage): boolean {
  return Object.values(usage).some((value) => typeof value === 'number')
}

/** Like the sums of `@bowline/llm`, which this entry must not load: no exponent, no zeros at the end. */
function addDecimals(a: string, b: string): string {
  const scale = Math.max(scaleOf(a), scaleOf(b))
  const sum = digitsOf(a, scale) + digitsOf(b, scale)
  const digits = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0')
  const place = digits.length - scale
  const fraction = digits.slice(place).replace(/0+$/, '')
  return `${sum < 0n ? '-' : ''}${digits.slice(0, place)}${fraction && `.${fraction}`}`
}

function scaleOf(text: string): number {
  return (text.split('.')[1] ?? '').length
}

function digitsOf(text: string, scale: number): bigint {
  const [whole = '', fraction = ''] = text.split('.')
  return BigInt(whole + fraction.padEnd(scale, '0'))
}
