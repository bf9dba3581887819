import type { ProviderOptions } from '../messages.ts'
import { safeEntries, type RuntimeParams } from './runtime-params.ts'

/** Options by provider: what this package needs, under `providerSpecific`, under the request's own, key by key. */
export function toProviderOptions(
  { provider, optionsKey }: { readonly provider: string; readonly optionsKey: string },
  { providerSpecific }: RuntimeParams,
  requested: ProviderOptions = {},
): ProviderOptions | undefined {
  const specific = providerSpecific ? safeEntries(providerSpecific) : []
  const layers: readonly ProviderOptions[] = [
    // This client hides the signs of life of a slow answer by default; the idle limit needs them.
    provider.includes('anthropic') || optionsKey === 'anthropic' ? { anthropic: { includePings: true } } : {},
    specific.length > 0 ? { [optionsKey]: Object.fromEntries(specific) } : {},
    requested,
  ]
  // A map, since on an object some names would reach its prototype.
  const merged = new Map<string, ProviderOptions[string]>()
  for (const layer of layers) {
    for (const [key, options] of Object.entries(layer)) merged.set(key, { ...merged.get(key), ...options })
  }
  return merged.size > 0 ? Object.fromEntries(merged) : undefined
}
