/** Restrictions of single vendors that the types of a prompt do not express. */
export interface VendorRules {
  /** Rejects text of only white space, even if it carries metadata. */
  readonly refusesBlankText: boolean
  /** Requires exactly one response per call, while its client creates one response per text of a result. */
  readonly wantsOneTextPerResult: boolean
  /** Requires calls to directly follow a user turn or results. */
  readonly wantsTurnBeforeCalls: boolean
  /** Its metadata refers to items stored by the provider, which stores only completed answers. */
  readonly forgetsCutAnswers: boolean
}

const noRules: VendorRules = {
  refusesBlankText: false,
  wantsOneTextPerResult: false,
  wantsTurnBeforeCalls: false,
  forgetsCutAnswers: false,
}

/** The first pattern found in the provider's name applies, because one vendor may serve models of another. */
const rows: readonly (readonly [pattern: RegExp, rules: VendorRules])[] = [
  [/anthropic|bedrock/i, { ...noRules, refusesBlankText: true }],
  [/google|vertex|gemini/i, { ...noRules, wantsOneTextPerResult: true, wantsTurnBeforeCalls: true }],
  [/\.responses$/i, { ...noRules, forgetsCutAnswers: true }],
]

export function vendorRulesOf(provider: string): VendorRules {
  return rows.find(([pattern]) => pattern.test(provider))?.[1] ?? noRules
}
