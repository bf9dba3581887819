/** Names of secrets in headers, JSON and environment variables. */
const secretName = String.raw`api[-_ ]?key|subscription-key|access_?token|client_?secret|secret_?access_?key`

const secrets: readonly [RegExp, string][] = [
  // Excludes plain words after these two, as in "bearer authentication".
  [/\b(bearer|basic)(?:\s+|%20)(?!(?:authentication|authorization|credentials?)(?![\w-]))[\w.~+/=-]{8,}/gi, '$1 ***'],
  [/\b(sk|pk|rk|gsk|csk|xai|sess|key|hf|nvapi|pplx|gh[opsu]|github_pat|r8|fw|vck|tgp)([-_])[\w-]{8,}/g, '$1$2***'],
  [/(?<![\w-])eyJ[\w-]{8,}\.[\w-]+(?:\.[\w-]*)?/g, 'eyJ***'],
  [/\b(AIza|AQ\.|ya29\.|ABSK)[\w.+/=-]{10,}/g, '$1***'],
  // Also matches JSON inside a JSON text, where quotes are escaped.
  [new RegExp(String.raw`((?:${secretName})(?: provided)?\\?["']?\s*[=:]\s*\\?["']?)[\w.~+/-]{8,}`, 'gi'), '$1***'],
  [/([?&][\w-]*(?:key|token|secret|signature|sig)=)(?!\[redacted\])[^&\s"']+/gi, '$1***'],
  [/(:\/\/)[^\s/?#@"']+@/g, '$1***@'],
]

/** Masks API keys, tokens and passwords that a provider or URL may repeat in an error text. */
export function maskSecrets(text: string): string {
  return secrets.reduce((masked, [pattern, replacement]) => masked.replace(pattern, replacement), text)
}
