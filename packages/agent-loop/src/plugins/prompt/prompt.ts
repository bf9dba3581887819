import type { SectionContext } from '../../contract/prompt.ts'
import type { Plugin } from '../../kernel/plugin.ts'
import type { Turn } from '../../kernel/turn.ts'
import type { PromptCache } from './cache.ts'

/**
 * Gives each segment its system prompt: a pinned one, one that was built before, or a new one. `asksUser`: a part of it is a
 * function.
 */
export function promptPlugin(cache: PromptCache, asksUser: boolean): Plugin {
  return {
    name: 'prompt',
    hooks: {
      prompt(turn) {
        const known = turn.run.pinnedPrompt ?? cache.known(sectionContext(turn))
        if (known === undefined) return build(turn, cache, asksUser)
        turn.prompt = known
        turn.instructions = known.text
        return undefined
      },
    },
  }
}

/** Builds the prompt. A section that cannot be built is left out and reported. */
async function build(turn: Turn, cache: PromptCache, asksUser: boolean): Promise<void> {
  if (asksUser) await turn.commit()
  const built = await cache.get(sectionContext(turn), { clock: turn.clock, abortSignal: turn.stop.signal }).catch(() => undefined)
  // The run is being stopped and calls no model.
  if (!built) return
  turn.prompt = built
  turn.instructions = built.text
  for (const { section, message } of built.errors)
    turn.log.record({ type: 'error', source: 'prompt', name: section, message, fatal: false })
}

function sectionContext({ run, agent, clock }: Turn): SectionContext {
  const { channel, sessionKey } = run
  return {
    ...(channel !== undefined && { channel }),
    ...(sessionKey !== undefined && { sessionKey }),
    tools: agent.toolNames,
    now: clock.now(),
  }
}
