import type { ProviderOptions } from '../messages.ts'
import type { ModelRequest } from '../model-request.ts'
import { safeEntries } from './runtime-params.ts'

/** Options by provider: what this package needs, under `providerSpecific`, under the request's own, key by key. */
export function toProviderOptions(
  request: Pick<ModelRequest, 'model' | 'providerOptions' | 'runtimeParams'>,
): ProviderOptions | undefined {
  const { provider } = request.model
  const specific = safeEntries(request.runtimeParams?.providerSpecific)
  const layers: readonly ProviderOptions[] = [
    // This client hides the signs of life of a slow answer by default; the idle limit needs them.
    provider.includes('anthropic') ? { anthropic: { includePings: true } } : {},
    specific.length > 0 ? { [optionsKeyOf(provider)]: Object.fromEntries(specific) } : {},
    request.providerOptions ?? {},
  ]
  const merged: ProviderOptions = {}
  for (const [key, options] of layers.flatMap((layer) => Object.entries(layer))) {
    merged[key] = { ...merged[key], ...options }
  }
  return Object.keys(merged).length > 0 ? merged : undefined
}

/** The key under which the provider's client reads its options: `openai.responses` reads `openai`. */
function optionsKeyOf(provider: string): string {
  return provider.split('.')[0] ?? provider
}
