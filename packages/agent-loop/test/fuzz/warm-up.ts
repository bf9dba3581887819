import { resolveSchema } from '@bowline/llm'
import { z } from 'zod'

/**
 * Loads the modules that schemas load at first use. Loading takes real time, which the clock of a world does not see: the first run
 * would seem never to end.
 */
export async function warmUp(): Promise<void> {
  await Promise.all([resolveSchema(z.object({})), resolveSchema({ type: 'string', pattern: '^a' })])
}
