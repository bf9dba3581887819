/** Where a session is in the order of a list. */
export interface SessionPlace {
  readonly createdAt: number
  readonly sessionId: string
}

export function cursorOf({ createdAt, sessionId }: SessionPlace): string {
  return Buffer.from(JSON.stringify([createdAt, sessionId])).toString('base64url')
}

/** Returns undefined for a text that is no cursor. */
export function readCursor(cursor: string): SessionPlace | undefined {
  const place = parsed(Buffer.from(cursor, 'base64url').toString())
  if (!Array.isArray(place)) return undefined
  const [createdAt, sessionId] = place as unknown[]
  return typeof createdAt === 'number' && typeof sessionId === 'string' ? { createdAt, sessionId } : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // No JSON: there is nothing else that it throws for.
    return undefined
  }
}
