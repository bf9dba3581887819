import type { SectionContext } from '../contract/prompt.ts'
import type { Turn } from './turn.ts'

/** The system prompt that was pinned, or built before. False: there is none. */
export function takeKnownInstructions(turn: Turn): boolean {
  const known = turn.run.pinnedInstructions ?? turn.agent.promptCache.known(sectionContext(turn))?.text
  turn.instructions = known ?? turn.instructions
  return known !== undefined
}

/** Builds the system prompt of the turn. What cannot be built is left out and said. */
export async function buildInstructions(turn: Turn): Promise<void> {
  if (takeKnownInstructions(turn)) return
  const { promptCache, asksForPrompt } = turn.agent
  // What stands drafted must not wait for code of the user.
  if (asksForPrompt) await turn.log.commit()
  const built = await promptCache.get(sectionContext(turn), { clock: turn.clock, abortSignal: turn.stop.signal }).catch(() => undefined)
  // A run that is being stopped calls no model.
  if (!built) return
  const { text, errors } = built
  turn.instructions = text
  for (const { section, message } of errors) turn.log.record({ type: 'error', source: 'prompt', name: section, message, fatal: false })
}

function sectionContext(turn: Turn): SectionContext {
  const { agent, channel, sessionKey } = turn.run
  return {
    ...(channel !== undefined && { channel }),
    ...(sessionKey !== undefined && { sessionKey }),
    tools: agent.toolNames,
    now: turn.clock.now(),
  }
}
