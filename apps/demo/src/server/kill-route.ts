const longestDelayMs = 5000

/**
 * Ends this process as a crash would. Only where people try things out: the caller mounts it outside of production and
 * for loopback only.
 */
export async function killRoute(request: Request): Promise<Response> {
  const body: unknown = await request.json().catch(() => undefined)
  const delayMs = typeof body === 'object' && body !== null && 'delayMs' in body ? body.delayMs : 0
  if (typeof delayMs !== 'number' || !(delayMs >= 0 && delayMs <= longestDelayMs)) {
    return Response.json({ code: 'invalid-body', detail: `delayMs must be 0 to ${longestDelayMs}.` }, { status: 400 })
  }
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), delayMs).unref()
  return Response.json({ pid: process.pid, delayMs }, { status: 202 })
}
