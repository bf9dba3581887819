import type { ProviderOptions } from '../messages.ts'
import { safeEntries, type RuntimeParams } from './runtime-params.ts'

/**
 * Merges provider options key by key, lowest precedence first: required options of this package, `providerSpecific`, the request's
 * own.
 */
export function toProviderOptions(
  { provider, optionsKey }: { readonly provider: string; readonly optionsKey: string },
  { providerSpecific }: RuntimeParams,
  requested: ProviderOptions = {},
): ProviderOptions | undefined {
  const specific = providerSpecific ? safeEntries(providerSpecific) : []
  const layers: readonly ProviderOptions[] = [
    // By default, this client hides the pings of a slow answer. The idle limit needs them.
    provider.includes('anthropic') || optionsKey === 'anthropic' ? { anthropic: { includePings: true } } : {},
    specific.length > 0 ? { [optionsKey]: Object.fromEntries(specific) } : {},
    requested,
  ]
  // A map, because on an object some names would reach the prototype.
  const merged = new Map<string, ProviderOptions[string]>()
  for (const layer of layers) {
    for (const [key, options] of Object.entries(layer)) merged.set(key, { ...merged.get(key), ...options })
  }
  return merged.size > 0 ? Object.fromEntries(merged) : undefined
}
