import { defineTool } from '@bowline/agent-loop'
import type { Tool, ToolContext } from '@bowline/agent-loop'
import type { JSONObject, JSONSchema7 } from '@bowline/llm'
import { limits } from './check-options.ts'
import type { Memories, MemoryScope, Note } from './types.ts'

export interface ToolParts {
  readonly memories: Memories
  readonly maxNoteBytes: number
  readonly scopeOf: (context: ToolContext) => MemoryScope
}

/** Below the size limit of tool outputs, so that no note is cut. */
const mostCharactersFound = 40_000
const mostFound = 20

const object = (properties: NonNullable<JSONSchema7['properties']>, ...required: readonly string[]): JSONSchema7 => ({
  type: 'object',
  properties,
  required: [...required],
  additionalProperties: false,
})

export function memoryTools({ memories, maxNoteBytes, scopeOf }: ToolParts): readonly Tool[] {
  const key: JSONSchema7 = { type: 'string', minLength: 1, maxLength: limits.keyCharacters }
  return [
    defineTool({
      name: 'memory_save',
      label: 'Save a note',
      description:
        'Saves a note for later conversations. With the key of a note it replaces that note. Save one fact per note, in whole sentences.',
      effect: 'idempotent',
      inputSchema: object(
        {
          text: { type: 'string', description: `The note, at most ${maxNoteBytes} bytes.` },
          key: { ...key, description: 'A short name such as "favourite-colour". Without it the note gets one.' },
          tags: { type: 'array', items: { type: 'string' }, maxItems: limits.tags, description: 'Words by which the note is found too.' },
        },
        'text',
      ),
      async execute(input, context) {
        const { sessionKey, runId, toolCallId, idempotencyKey, abortSignal } = context
        const origin = { ...(sessionKey !== undefined && { sessionKey }), runId, toolCallId }
        const { key, text, tags } = input as { readonly key?: string; readonly text: string; readonly tags?: readonly string[] }
        const note = await memories.save(scopeOf(context), { key, text, tags }, { idempotencyKey, origin, abortSignal })
        return `Saved under the key ${JSON.stringify(note.key)}.`
      },
    }),
    defineTool({
      name: 'memory_search',
      label: 'Search notes',
      description: 'Finds notes of earlier conversations by words. Notes with more of the words come first.',
      effect: 'pure',
      inputSchema: object(
        {
          text: { type: 'string', minLength: 1, maxLength: limits.searchCharacters, description: 'Words to look for.' },
          limit: { type: 'integer', minimum: 1, maximum: mostFound, description: 'Default 10.' },
        },
        'text',
      ),
      async execute(input, context) {
        const { text, limit } = input as { readonly text: string; readonly limit?: number }
        return outputOf(
          await memories.search(scopeOf(context), text, { abortSignal: context.abortSignal, ...(limit !== undefined && { limit }) }),
        )
      },
    }),
    defineTool({
      name: 'memory_forget',
      label: 'Remove a note',
      description: 'Removes the note that has this key.',
      effect: 'idempotent',
      inputSchema: object({ key }, 'key'),
      async execute(input, context) {
        const { key } = input as { readonly key: string }
        const wasThere = await memories.remove(scopeOf(context), key, { idempotencyKey: context.idempotencyKey })
        return wasThere ? 'Removed.' : { output: 'There is no note with this key. memory_search shows the keys of notes.', isError: true }
      },
    }),
  ]
}

function outputOf(notes: readonly Note[]): JSONObject {
  const shown: JSONObject[] = []
  let characters = 0
  for (const { key, text, tags, updatedAt } of notes) {
    const found = { key, text, ...(tags.length > 0 && { tags: [...tags] }), saved: new Date(updatedAt).toISOString() }
    characters += JSON.stringify(found).length
    if (characters > mostCharactersFound && shown.length > 0) break
    shown.push(found)
  }
  return { notes: shown, ...(shown.length < notes.length && { leftOut: notes.length - shown.length }) }
}
