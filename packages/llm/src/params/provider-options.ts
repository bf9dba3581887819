import type { ProviderOptions } from '../messages.ts'
import { safeEntries, type RuntimeParams } from './runtime-params.ts'

/** Options by provider: what this package needs, under `providerSpecific`, under the request's own, key by key. */
export function toProviderOptions(
  { provider, optionsKey }: { readonly provider: string; readonly optionsKey: string },
  { providerSpecific }: RuntimeParams,
  requested: ProviderOptions = {},
): ProviderOptions | undefined {
  const specific = safeEntries(providerSpecific)
  const layers: readonly ProviderOptions[] = [
    // This client hides the signs of life of a slow answer by default; the idle limit needs them.
    provider.includes('anthropic') ? { anthropic: { includePings: true } } : {},
    specific.length > 0 ? { [optionsKey]: Object.fromEntries(specific) } : {},
    requested,
  ]
  const merged: ProviderOptions = {}
  for (const [key, options] of layers.flatMap((layer) => Object.entries(layer))) {
    merged[key] = { ...merged[key], ...options }
  }
  return Object.keys(merged).length > 0 ? merged : undefined
}
