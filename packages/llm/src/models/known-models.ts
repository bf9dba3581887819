import type { ModelInfo } from '../model-info.ts'

/** Facts from a vendor's own page about a model. Add a row only after reading that page. */
export interface KnownModel extends ModelInfo {
  /** `provider:model`, by the provider's options key; may end in `*`. */
  readonly match: string
  /** YYYY-MM-DD: the latest date that the page gives as past. The page was read on that date or later. */
  readonly asOf: string
  /** The public address of the page. */
  readonly source: string
}

const million = { contextWindow: 1_000_000, maxOutputTokens: 128_000 }
const twoHundredThousand = { contextWindow: 200_000, maxOutputTokens: 64_000 }

/**
 * There are no prices: the pages do not state a date for them, and a wrong price is worse than none. Vendors whose pages could not
 * be read have no rows. Users supply facts that are missing here.
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

/** These pages state the release date of the model. */
function claudePage(name: string, asOf: string): Pick<KnownModel, 'asOf' | 'source'> {
  return { asOf, source: `https://platform.claude.com/docs/en/models/${name}/overview` }
}
