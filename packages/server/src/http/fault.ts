const frames = 5

/** What a fault was and where, for a log: messages of errors may hold content. */
export function faultOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = (error as { readonly code?: unknown }).code
  const places = error.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  return { name: error.name, ...(typeof code === 'string' && { code }), at: places?.slice(0, frames).map((line) => line.trim()) }
}
