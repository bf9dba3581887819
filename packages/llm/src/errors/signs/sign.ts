import type { ErrorKind, ModelError } from '../../model-error.ts'
import type { Group } from '../codes.ts'

export type Limits = NonNullable<ModelError['limits']>

/** A phrase that tells a kind within its groups. */
export interface Sign {
  readonly kind: ErrorKind
  readonly groups: readonly Group[]
  /** Numbers are read from the named groups `tokens`, `output` (more tokens, to be added) and `maximum`; see `says`. */
  readonly phrase: RegExp
  /** A phrase that takes the meaning away. */
  readonly unless?: RegExp
  /** What must hold for the numbers in the phrase. */
  readonly where?: (limits: Limits) => boolean
  /** A message as the provider words it. */
  readonly example: string
}

/**
 * A phrase as a pattern, in which `{tokens}`, `{output}` and `{maximum}` stand for numbers and `…` for a few other
 * words: a bounded gap, so that no message takes long to search.
 */
export function says(words: TemplateStringsArray, ...parts: readonly string[]): RegExp {
  const numbered = String.raw(words, ...parts).replace(/\{(tokens|output|maximum)\}/g, '(?<$1>[\\d,]{1,15})')
  return new RegExp(numbered.replaceAll('…', '.{0,200}?'), 'is')
}

/** Whether the message bears the sign, and with which numbers. */
export function limitsOfSign(sign: Sign, message: string): Limits | undefined {
  const match = sign.phrase.exec(message)
  if (!match || sign.unless?.test(message)) return undefined
  const limits = limitsIn(match.groups ?? {})
  return sign.where && !sign.where(limits) ? undefined : limits
}

function limitsIn({ tokens, output, maximum }: Readonly<Record<string, string | undefined>>): Limits {
  return {
    ...(tokens !== undefined && { tokens: countOf(tokens) + (output === undefined ? 0 : countOf(output)) }),
    ...(maximum !== undefined && { maximum: countOf(maximum) }),
  }
}

function countOf(digits: string): number {
  return Number(digits.replaceAll(',', ''))
}
