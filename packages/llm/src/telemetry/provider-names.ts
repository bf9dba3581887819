/** Vendors that the conventions name, by how the names of their clients begin. Longer beginnings first. */
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

/** The provider as the conventions name it; one that they do not name, up to the first dot. */
export function providerName(provider: string): string {
  const known = wellKnown.find(([beginning]) => provider === beginning || provider.startsWith(`${beginning}.`))
  return known?.[1] ?? provider.split('.')[0] ?? provider
}
