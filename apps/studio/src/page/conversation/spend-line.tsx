import type { Spent } from '../past/spending.ts'

/** Formats tokens and cost: `~1,204 in, 86 out · ~$0.0021`. A `~` marks an estimate. */
export function describeSpent({ inputTokens, outputTokens, cost, currency, estimated }: Spent): string {
  const about = estimated ? '~' : ''
  const tokens = `${about}${inputTokens.toLocaleString('en')} in, ${outputTokens.toLocaleString('en')} out`
  return cost === undefined
    ? `${tokens} · cost not known`
    : cost === 0 && currency === undefined
      ? tokens
      : `${tokens} · ${about}${formatCost(cost, currency)}`
}

export function formatCost(cost: number, currency = 'USD'): string {
  const digits = cost >= 1 || cost === 0 ? 2 : cost >= 0.01 ? 4 : 6
  return new Intl.NumberFormat('en', { style: 'currency', currency, minimumFractionDigits: 2, maximumFractionDigits: digits }).format(cost)
}
