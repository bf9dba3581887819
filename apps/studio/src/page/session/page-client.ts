import { createClient } from '@bowline/client'

/** The page's cookie says who it is. A server that was killed is back in a moment, so the page asks often. */
export const pageClient = createClient({ baseUrl: '', reconnect: { baseMs: 150, maxMs: 2000 } })
