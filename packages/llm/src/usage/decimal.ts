import type { Decimal } from '../model-info.ts'

/** The exact number `digits × 10^-scale`. */
export interface FixedPoint {
  readonly digits: bigint
  readonly scale: number
}

// Three digits suffice for the exponent of every JavaScript number, and prevent texts that would expand to gigabytes of zeros.
const form = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d{1,3}))?$/i

/** Parses a decimal without loss, at the smallest scale. Returns `undefined` if it is not a decimal. */
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

/** Returns the digits of the number at another scale, which must not be smaller than its own. */
export function digitsAt({ digits, scale }: FixedPoint, wanted: number): bigint {
  return scale === wanted ? digits : digits * 10n ** BigInt(wanted - scale)
}

/** Returns a decimal text without exponent and trailing zeros. */
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
