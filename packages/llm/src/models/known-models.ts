import type { ModelInfo } from '../model-info.ts'

/** What a vendor's own page says about a model. A row stands here only if somebody has read it on that page. */
export interface KnownModel extends ModelInfo {
  /** `provider:model`, by the provider's options key; may end in `*`. */
  readonly match: string
  /** YYYY-MM-DD: the newest day that the page names as past, so that it was read on that day or later. */
  readonly asOf: string
  /** The public address of the page. */
  readonly source: string
}

const million = { contextWindow: 1_000_000, maxOutputTokens: 128_000 }
const twoHundredThousand = { contextWindow: 200_000, maxOutputTokens: 64_000 }

/**
 * No prices: the pages that were read do not say on which day theirs held, and a wrong price is worse than none.
 * Vendors whose pages could not be read have no rows; what is not known here comes from the user.
 */
export const knownModels: readonly KnownModel[] = [
  { match: 'anthropic:claude-fable-5-1', ...million, ...claudePage('fable-5-1', '2026-09-01') },
  { match: 'anthropic:claude-fable-5', ...million, ...claudePage('fable-5', '2026-06-09') },
  { match: 'anthropic:claude-opus-5', ...million, ...claudePage('opus-5', '2026-07-24') },
  { match: 'anthropic:claude-opus-4-8', ...million, ...claudePage('opus-4-8', '2026-05-28') },
  { match: 'anthropic:claude-sonnet-5', ...million, ...claudePage('sonnet-5', '2026-06-30') },
  { match: 'anthropic:claude-sonnet-4-5*', ...twoHundredThousand, ...claudePage('sonnet-4-5', '2025-09-29') },
  { match: 'anthropic:claude-haiku-4-5*', ...twoHundredThousand, ...claudePage('haiku-4-5', '2025-10-15') },
]

/** These pages name the day on which the model was released. */
function claudePage(name: string, asOf: string): Pick<KnownModel, 'asOf' | 'source'> {
  return { asOf, source: `https://platform.claude.com/docs/en/models/${name}/overview` }
}
