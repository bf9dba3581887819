/** What single vendors refuse although the types of a prompt allow it. */
export interface VendorRules {
  /** A text of nothing but white space, also one that carries metadata. */
  readonly refusesBlankText: boolean
  /** More or fewer responses than calls; the client makes a response of every text of a result. */
  readonly wantsOneTextPerResult: boolean
  /** Calls that do not stand right behind a turn of the user or behind results. */
  readonly wantsTurnBeforeCalls: boolean
  /** Metadata names items that the provider stored, which it does only with answers that came to their end. */
  readonly forgetsCutAnswers: boolean
}

const noRules: VendorRules = {
  refusesBlankText: false,
  wantsOneTextPerResult: false,
  wantsTurnBeforeCalls: false,
  forgetsCutAnswers: false,
}

/** The first row whose pattern is in the provider's name counts: one vendor serves the models of another. */
const rows: readonly (readonly [pattern: RegExp, rules: VendorRules])[] = [
  [/anthropic|bedrock/i, { ...noRules, refusesBlankText: true }],
  [/google|vertex|gemini/i, { ...noRules, wantsOneTextPerResult: true, wantsTurnBeforeCalls: true }],
  [/\.responses$/i, { ...noRules, forgetsCutAnswers: true }],
]

export function vendorRulesOf(provider: string): VendorRules {
  return rows.find(([pattern]) => pattern.test(provider))?.[1] ?? noRules
}
