import { resolveSchema } from '@bowline/llm'
import { z } from 'zod'

/**
 * Loads the modules that schemas load at first use. Loading takes real time: a world whose clock does not see that time would take
 * the first run for one that never ends.
 */
export async function warmUp(): Promise<void> {
  await Promise.all([resolveSchema(z.object({})), resolveSchema({ type: 'string', pattern: '^a' })])
}
