const frames = 5

/** Returns type and place of a fault for a log, without the message, which may hold content. */
export function faultOf(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error }
  const code = (error as { readonly code?: unknown }).code
  const places = error.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  return { name: error.name, ...(typeof code === 'string' && { code }), at: places?.slice(0, frames).map((line) => line.trim()) }
}
