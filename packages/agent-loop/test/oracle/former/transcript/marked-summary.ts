import type { UserMessage } from '@bowline/llm'
import { deepFreeze } from '../base/json.ts'
import type { Compaction, Fact } from '../events/types.ts'

/** A name for the facts of a kind; other kinds have their own. */
const titles: Readonly<Record<string, string>> = {
  'file-read': 'Files read',
  'file-modified': 'Files changed',
  tool: 'Tools used',
}

/** What a model is shown for the messages that were summarised: the same compaction gives the same bytes. */
export function markedSummary({ compactionId, summary, facts }: Pick<Compaction, 'compactionId' | 'summary' | 'facts'>): UserMessage {
  const lines = ['[Summary of earlier messages, which were left out]', summary, ...factLines(facts), '[End of the summary]']
  return deepFreeze({ role: 'user', id: compactionId, content: lines.join('\n\n') })
}

function factLines(facts: readonly Fact[]): readonly string[] {
  const byKind = Map.groupBy(facts, ({ kind }) => kind)
  const lines = [...byKind].map(([kind, ofKind]) => `${titles[kind] ?? kind}: ${ofKind.map(({ value }) => value).join(', ')}`)
  return lines.length > 0 ? [lines.join('\n')] : []
}
