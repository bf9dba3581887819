import type { Decimal } from '../model-info.ts'

/** The number `digits × 10^-scale`, exactly. */
export interface FixedPoint {
  readonly digits: bigint
  readonly scale: number
}

// Three digits are enough for every number there is, and keep a text from asking for gigabytes of zeros.
const form = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i

/** Reads a decimal without loss, at the smallest scale that holds it; `undefined` for what is not one. */
export function parseDecimal(value: Decimal): FixedPoint | undefined {
  const match = form.exec(String(value))
  if (!match) return undefined
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match
  const written = `${whole}${fraction}`
  const significant = withoutTrailingZeros(written)
  if (significant === '') return { digits: 0n, scale: 0 }
  const digits = BigInt(`${sign}${significant}`)
  const scale = fraction.length - (written.length - significant.length) - Number(exponent)
  return scale < 0 ? { digits: digitsAt({ digits, scale }, 0), scale: 0 } : { digits, scale }
}

/** The digits of the same number at a scale that must not be smaller than its own. */
export function digitsAt({ digits, scale }: FixedPoint, wanted: number): bigint {
  return scale === wanted ? digits : digits * 10n ** BigInt(wanted - scale)
}

/** Decimal text without exponent and without trailing zeros. */
export function decimalText({ digits, scale }: FixedPoint): string {
  const sign = digits < 0n ? '-' : ''
  const text = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0')
  const fraction = withoutTrailingZeros(text.slice(text.length - scale))
  return `${sign}${text.slice(0, text.length - scale)}${fraction && `.${fraction}`}`
}

function withoutTrailingZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return digits.slice(0, end)
}
