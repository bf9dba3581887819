import type { Compaction } from '@bowline/agent-loop/events'
import { ChevronRight, FoldVertical } from 'lucide-react'
import { Markdown } from './markdown.tsx'

/** States that from here on the model sees a summary. The messages above can still be read. */
export function CompactionNote({ compaction }: { readonly compaction: Compaction }) {
  const { tokensBefore, tokensAfter, summary, facts } = compaction
  return (
    <details data-testid="compaction" className="group mt-4 rounded-lg border border-dashed border-model/50 bg-surface text-sm">
      <summary className="flex list-none flex-wrap items-center gap-2 rounded-lg px-3 py-2">
        <ChevronRight className="size-4 shrink-0 transition-transform group-open:rotate-90" aria-hidden="true" />
        <FoldVertical className="size-4 shrink-0 text-model" aria-hidden="true" />
        <span className="font-medium">The conversation was compacted</span>
        <span className="text-ink-soft tabular-nums">
          {count(tokensBefore)} → {count(tokensAfter)} tokens
        </span>
      </summary>
      <div className="space-y-2 border-t border-line px-4 py-3">
        <p className="text-ink-soft">The model is shown this summary in the place of older messages. They stay here, and in the log.</p>
        <Markdown text={summary} />
        {facts.length > 0 && (
          <ul className="list-disc pl-5 text-ink-soft">
            {facts.map(({ kind, value }) => (
              <li key={`${kind}/${value}`}>
                {kind}: {value}
              </li>
            ))}
          </ul>
        )}
      </div>
    </details>
  )
}

function count(tokens: number): string {
  return tokens.toLocaleString('en')
}
