/** A decimal number with at most 9 decimals. A text is exact; a number means its shortest decimal form. */
export type Decimal = string | number

/** Prices per 1,000,000 tokens. They must not be negative. */
export interface TokenPrices {
  /** Price of tokens that were neither read from nor written to a cache. */
  readonly input: Decimal
  readonly output: Decimal
  /** Price of cached tokens. Without it, they cost as much as `input`, and the cost is marked `estimated`. */
  readonly cacheRead?: Decimal
  readonly cacheWrite?: Decimal
  /** Price of reasoning tokens. Default: `output`. */
  readonly reasoning?: Decimal
}

/** Prices that replace all others if a call has more than `aboveInputTokens` input tokens. */
export interface PriceTier extends TokenPrices {
  readonly aboveInputTokens: number
}

/** The price of a model, per 1,000,000 tokens. The tier with the highest limit below the input tokens applies to the whole call. */
export interface ModelPrice extends TokenPrices {
  /** Default: 'USD'. */
  readonly currency?: string
  readonly tiers?: readonly PriceTier[]
}

/** Facts about a model. An absent fact is unknown, not denied. */
export interface ModelInfo {
  /** Maximum number of tokens of input and output together. */
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
  /** Kinds of files that the model accepts. */
  readonly input?: { readonly image?: boolean; readonly file?: boolean; readonly audio?: boolean }
  readonly price?: ModelPrice
  /** Best way to request JSON of a schema from the model: by its response format, by a tool, or in the prompt. */
  readonly structuredOutput?: 'json-schema' | 'tool' | 'prompt'
}
