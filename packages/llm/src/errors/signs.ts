import type { Group } from './codes.ts'
import { noAccess } from './signs/access.ts'
import { unpaid } from './signs/billing.ts'
import { brokenHistory } from './signs/history.ts'
import { contextOverflow, outputBudget } from './signs/overflow.ts'
import { blamedOnServer, passing } from './signs/passing.ts'
import { refusedContent, refusedSize } from './signs/refused.ts'
import { limitsOfSign, type Limits, type Sign } from './signs/sign.ts'

const counting: readonly Sign[] = [...outputBudget, ...contextOverflow]

/** All signs in order: the first match decides. */
export const signs: readonly Sign[] = [
  ...refusedSize,
  ...counting,
  ...unpaid,
  ...brokenHistory,
  ...noAccess,
  ...refusedContent,
  ...blamedOnServer,
  ...passing,
]

export function signOf(group: Group, message: string): Sign | undefined {
  return signs.find((sign) => sign.groups.includes(group) && limitsOfSign(sign, message) !== undefined)
}

/** Returns the numbers in a message about too many tokens, however it was recognised as one. */
export function limitsOf(message: string): Limits | undefined {
  for (const sign of counting) {
    const limits = limitsOfSign(sign, message)
    if (limits && Object.keys(limits).length > 0) return limits
  }
  return undefined
}
