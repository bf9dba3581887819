import type { ErrorKind, ModelError } from '../../model-error.ts'
import type { Group } from '../codes.ts'

export type Limits = NonNullable<ModelError['limits']>

/** A phrase that determines the kind of an error within its groups. */
export interface Sign {
  readonly kind: ErrorKind
  readonly groups: readonly Group[]
  /** Numbers are read from the named groups `tokens`, `output` (more tokens, which are added) and `maximum`; see `says`. */
  readonly phrase: RegExp
  /** If this phrase matches too, the sign does not apply. */
  readonly unless?: RegExp
  /** Condition on the numbers in the phrase. */
  readonly where?: (limits: Limits) => boolean
  /** A real message of the provider. */
  readonly example: string
}

/**
 * Converts a phrase to a pattern. `{tokens}`, `{output}` and `{maximum}` stand for numbers. `…` stands for a few other words: the
 * gap is bounded, so that no message takes long to search.
 */
export function says(words: TemplateStringsArray, ...parts: readonly string[]): RegExp {
  const numbered = String.raw(words, ...parts).replace(/\{(tokens|output|maximum)\}/g, '(?<$1>[\\d,]{1,15})')
  return new RegExp(numbered.replaceAll('…', '.{0,200}?'), 'is')
}

/** Returns the numbers in the message, or undefined if the sign does not match. */
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
