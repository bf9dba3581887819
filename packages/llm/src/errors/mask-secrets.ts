const secrets: readonly [RegExp, string][] = [
  [/\b(bearer|basic)\s+[\w.~+/=-]{8,}/gi, '$1 ***'],
  [/\b(sk|pk|rk|gsk|csk|xai|sess|key|hf|nvapi|pplx|ghp)([-_])[\w-]{8,}/g, '$1$2***'],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, 'eyJ***'],
  [/\bAIza[\w-]{10,}/g, 'AIza***'],
  [/((?:x-api-key|x-goog-api-key|api[-_]?key|access_token)["']?\s*[=:]\s*["']?)[\w.~+/-]{8,}/gi, '$1***'],
  [/([?&](?:key|token)=)[^&\s"']+/gi, '$1***'],
]

/** Replaces API keys and tokens that a provider or a URL may repeat in an error text. */
export function maskSecrets(text: string): string {
  return secrets.reduce((masked, [pattern, replacement]) => masked.replace(pattern, replacement), text)
}
