/** Vendors that the conventions name, by the prefix of their clients' names. Longer prefixes come first. */
const wellKnown: readonly (readonly [beginning: string, name: string])[] = [
  ['google.vertex', 'gcp.vertex_ai'],
  ['google', 'gcp.gemini'],
  ['vertex', 'gcp.vertex_ai'],
  ['amazon-bedrock', 'aws.bedrock'],
  ['bedrock', 'aws.bedrock'],
  ['azure', 'azure.ai.openai'],
  ['azure-openai', 'azure.ai.openai'],
  ['mistral', 'mistral_ai'],
  ['moonshotai', 'moonshot_ai'],
  ['xai', 'x_ai'],
]

/** Returns the provider's name in the conventions, else its own name up to the first dot. */
export function providerName(provider: string): string {
  const known = wellKnown.find(([beginning]) => provider === beginning || provider.startsWith(`${beginning}.`))
  return known?.[1] ?? provider.split('.')[0] ?? provider
}
