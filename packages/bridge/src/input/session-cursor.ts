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
  try {
    const [createdAt, sessionId] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[]
    return typeof createdAt === 'number' && typeof sessionId === 'string' ? { createdAt, sessionId } : undefined
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return undefined
    throw error
  }
}
