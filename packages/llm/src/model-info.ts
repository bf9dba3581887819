/** A decimal number with at most 9 decimals. A text is exact; a number stands for its shortest decimal form. */
export type Decimal = string | number

/** Money per 1,000,000 tokens. None may be negative. */
export interface TokenPrices {
  /** For tokens that were neither read from nor written to a cache. */
  readonly input: Decimal
  readonly output: Decimal
  /** Without a cache price its tokens cost what `input` says, and the cost is flagged `estimated`. */
  readonly cacheRead?: Decimal
  readonly cacheWrite?: Decimal
  /** Without it reasoning costs what `output` says. */
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
  /** Tokens that input and output share. */
  readonly contextWindow?: number
  readonly maxOutputTokens?: number
  /** Which kinds of files the model takes. */
  readonly input?: { readonly image?: boolean; readonly file?: boolean; readonly audio?: boolean }
  readonly price?: ModelPrice
  /** How the model is best asked for JSON of a schema: by its response format, by a tool, or in the prompt. */
  readonly structuredOutput?: 'json-schema' | 'tool' | 'prompt'
}
