import { defineExtension } from '@bowline/agent-loop'
import type { Extension } from '@bowline/agent-loop'
import { tenantOf } from '../keys.ts'
import { checkMemoryOptions } from './check-options.ts'
import { NoteMemories } from './memories.ts'
import { sectionOf } from './prompt-section.ts'
import { checkScope } from './scope.ts'
import { memoryTools } from './tools.ts'
import type { MemoryOptions, MemoryScope, MemoryTurn } from './types.ts'

/** Highest number of notes to read: more than a section of the usual size can hold. */
const mostShown = 200

/**
 * Creates an extension that gives an agent notes across sessions: the tools `memory_save`, `memory_search` and `memory_forget`,
 * and the newest notes at the end of the system prompt, read again for each turn. Throws `invalid-config`.
 */
export function memory(options: MemoryOptions): Extension {
  checkMemoryOptions('memory.options', options)
  const { scope, maxCharacters = 4_000, maxNoteBytes = 4_096, ...given } = options
  const memories = new NoteMemories({ ...given, maxNoteBytes })
  const scopeOf = (turn: Omit<MemoryTurn, 'tenant'>): MemoryScope => (typeof scope === 'function' ? chosenScope(scope, turn) : scope)
  return defineExtension({
    name: 'memory',
    tools: memoryTools({ memories, maxNoteBytes, scopeOf }),
    hooks:
      maxCharacters === 0
        ? {}
        : {
            async beforeAgentStart({ instructions }, context) {
              const notes = await memories.newest(scopeOf(context), mostShown + 1)
              const section = sectionOf(notes.slice(0, mostShown), maxCharacters, notes.length > mostShown)
              if (section === '') return undefined
              // Appended after the stable instructions, so that the provider can cache those.
              return { instructions: instructions === '' ? section : `${instructions}\n\n${section}` }
            },
          },
  })
}

function chosenScope(
  choose: (turn: MemoryTurn) => MemoryScope,
  { runId, agent, sessionKey, context }: Omit<MemoryTurn, 'tenant'>,
): MemoryScope {
  const tenant = sessionKey === undefined ? undefined : tenantOf(sessionKey)
  const chosen: unknown = choose({
    runId,
    agent,
    ...(sessionKey !== undefined && { sessionKey, ...(tenant !== undefined && { tenant }) }),
    ...(context !== undefined && { context }),
  })
  checkScope('scope()', chosen)
  return chosen
}
